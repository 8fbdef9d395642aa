"""Storage of runs: configuration, training state, run files and foreign formats."""
