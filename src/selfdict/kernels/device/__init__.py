"""The passes that dominate at large n, on torch tensors: Triton kernels on a GPU, each with a plain-torch twin."""
