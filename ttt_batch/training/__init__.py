"""Training, resuming, learning from given games, and checkpoints."""
