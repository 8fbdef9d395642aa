"""Training of pattern networks: games, proofs in between, and the run file."""
