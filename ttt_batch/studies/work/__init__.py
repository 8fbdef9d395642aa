"""A study at work: its chunks, whoever does them, and the loop that stores what they bring."""
