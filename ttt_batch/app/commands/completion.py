"""What the shell offers while an option's value is being typed.

A person is waiting for the key, so nothing here loads numba.  Names whose registry would are written out; a test
compares them with the registries.
"""

BOARDS = (
    *("3x3", "3x3-misere", "3x4x3", "3x4x4", "3x5x3", "3x5x4", "4x4x3", "4x4x3-exact", "4x4x4", "4x4x4-misere"),
    *("4x5x4", "5x5x4", "5x5x5", "6x6x4"),
)
ENGINES = ("walk", "flow")
FORMATS = ("html", "csv", "raw", "pickle", "pickle-text", "npz", "json", "parquet")
AGAINST = ("random", "one-ply", "two-ply", "optimal", "self")
PLOTS = ("curves", "opening", "coverage")
SWITCH = ("on", "off", "auto")
