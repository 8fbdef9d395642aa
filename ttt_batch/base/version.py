"""The version of the package, in the one place that everything else reads it from."""

VERSION = "0.9.0"
