"""Where and how to compute: threads, BLAS, the choice of a device, and sums over blocks."""
