"""The kernels of training: batches, games one by one, larger and growing boards."""
