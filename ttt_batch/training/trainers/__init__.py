"""Trainers that continue a run by games or by batches."""
