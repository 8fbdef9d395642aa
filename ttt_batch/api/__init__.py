"""The public Python API, on which the command line, reports, plots, terminal and page stand."""
