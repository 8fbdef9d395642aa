"""Helpers that do not depend on a game: errors, files, memory, parsing names and numbers, kernels, random numbers."""
