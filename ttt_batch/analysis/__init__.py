"""Analysis of finished runs: matches, tournaments, proofs, positions, comparisons, boards and benchmarks."""
