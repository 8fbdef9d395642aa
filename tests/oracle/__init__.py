"""Naive programs in plain Python, to which the package is compared."""
