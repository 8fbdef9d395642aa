"""Training of pattern networks with games and proofs."""
