"""Proofs by exhaustive search of the games that an agent allows, on boards of up to 64 cells, and certificates."""
