"""Exact results: what policies achieve, what beats them, and ties broken by the truth."""
