"""The commands, a file per occasion: options, messages and exit codes.

Nothing is computed here, and nothing heavy is imported before it is needed.
"""
