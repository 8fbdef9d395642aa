"""What commands print, as text for people and as plain values for JSON.  Nothing is computed here.

A file per subject, so that a command loads its own only.
"""
