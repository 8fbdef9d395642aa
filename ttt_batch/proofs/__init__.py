"""Proofs by exhausting every game that an agent lets happen, on boards of up to 64 cells, and their certificates."""
