"""Spectral libraries, read in the reader process: a module a format."""
