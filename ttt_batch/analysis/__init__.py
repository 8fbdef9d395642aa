"""What is asked of finished runs: matches, tournaments, search, positions, comparisons, boards, speed."""
