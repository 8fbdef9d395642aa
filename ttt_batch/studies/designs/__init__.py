"""Designs of studies: their options, and the settings and seeds that follow from them."""
