"""What changes a run: training, resuming, learning from given games, checkpoints."""
