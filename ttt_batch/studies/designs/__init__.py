"""What a person asks a study for, and the settings and seeds that it makes."""
