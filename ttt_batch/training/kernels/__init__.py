"""The kernels of training: batches, games one by one, and play on growing boards."""
