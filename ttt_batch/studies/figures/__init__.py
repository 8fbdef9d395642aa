"""What a study's results say: figures of each setting with their intervals, settings in order, and whom to repeat."""
