"""Training of a study's learners, with the same bytes as `train` records for the same setting and seed."""
