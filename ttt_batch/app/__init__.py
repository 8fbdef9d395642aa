"""User interfaces: commands, terminal output, reports, pictures, the page, and the Python API."""
