"""Spectral libraries: one file per format, and what they have in common."""
