"""Threads, BLAS, the choice of a device, and sums over blocks."""
