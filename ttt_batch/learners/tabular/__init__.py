"""Learners of tables, one file each with a `LEARNER`, found by being here under its name."""
