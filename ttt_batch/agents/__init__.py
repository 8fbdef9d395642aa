"""Agents of any kind: whatever answers a batch of positions with moves."""
