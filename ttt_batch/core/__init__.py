"""Helpers that know no game: errors, text streams, files, memory, parsing of names and numbers."""

VERSION = "0.9.0"
