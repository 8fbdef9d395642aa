"""The version of the package; every other place reads it from here."""

VERSION = "0.9.0"
