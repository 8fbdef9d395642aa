"""Reports of commands, as text for people and as plain values for JSON.  Nothing is computed here.

A command imports only the module of its subject.
"""
