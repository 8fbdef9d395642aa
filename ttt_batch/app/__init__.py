"""What people see: commands, the terminal, reports, pictures, the page, and the functions of the Python API."""
