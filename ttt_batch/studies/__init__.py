"""Studies of many settings over many seeds: design, training, file and figures."""
