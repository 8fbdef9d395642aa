"""What a study's learners compute: byte for byte what `train` records of the same setting and seed."""
