"""Runs of pattern networks: configuration, contents, and storage in run files."""
