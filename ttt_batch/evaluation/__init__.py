"""Exact results of policies, best responses, tie-breaking, and proofs by search with certificates."""
