"""What is stored: configuration, state, the run, its file, and other people's formats."""
