"""Rules become a graph: boards, positions, games as text, enumeration, growing graphs, and the solution."""
