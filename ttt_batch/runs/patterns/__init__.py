"""Runs of pattern networks: their configuration, what they hold, and how a run file holds it."""
