"""What knows no game: errors, files, memory, names and numbers as people write them, kernels, random numbers."""
