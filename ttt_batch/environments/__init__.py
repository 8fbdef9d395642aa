"""Thousands of boards at once, for agents that are trained elsewhere: `Batch`, and interfaces that libraries speak."""
