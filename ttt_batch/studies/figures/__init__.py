"""Figures of a study's settings: medians with intervals, ranking, and repetition of the best setting."""
