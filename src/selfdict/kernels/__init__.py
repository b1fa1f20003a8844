"""Compiled loops on plain arrays.

Each kernel has a slow and readable counterpart in ``tests/naive*.py``.
"""
