"""Computations on torch tensors, with Triton kernels where Triton is available."""
