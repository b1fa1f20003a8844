"""The same computations for torch tensors: Triton kernels, and plain torch where there is no Triton."""
