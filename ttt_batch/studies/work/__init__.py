"""Training of a study: its chunks, their executors, and the loop that stores their results."""
