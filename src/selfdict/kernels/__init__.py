"""Compiled loops on plain arrays: one file each, each with a slow readable twin in ``tests/naive*.py``."""
