"""Many settings over many seeds: what is asked for, the learners at work, their file, and what it says."""
