"""Matrix products inside compiled kernels: no Python, and no GIL, between a product and what follows it."""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_NAMES = {"float32": "sgemm", "float64": "dgemm"}


def gemm_address(dtype: Any) -> int:
    """Return the address of scipy's BLAS routine for :func:`product`. As an argument, it leaves kernels cacheable."""
    address: int = get_cython_function_address("scipy.linalg.cython_blas", _NAMES[np.dtype(dtype).name])
    return address


@intrinsic  # type: ignore[untyped-decorator]
def _call(context: Any, address: Any, pointers: Any) -> Any:
    """Call the routine at an address with a tuple of pointers, as Fortran does."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        arguments = cgutils.unpack_tuple(builder, values[1])
        routine = ir.FunctionType(ir.VoidType(), [value.type for value in arguments])
        builder.call(builder.inttoptr(values[0], routine.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(address, pointers), generate


@jit
def _layout(A: Array) -> tuple[int, int]:
    """Return how BLAS, which stores columns, is to read Aᵀ, and the distance of its columns."""
    if A.strides[1] == A.itemsize:
        return ord("N"), max(A.strides[0] // A.itemsize, A.shape[1])
    return ord("T"), max(A.strides[1] // A.itemsize, A.shape[0])


@jit
def product(gemm: int, A: Array, B: Array, out: Array) -> None:
    """Put A B into ``out``: rows of ``out`` and either rows or columns of A and of B are contiguous.

    ``gemm`` comes from :func:`gemm_address`.
    """
    if A.shape[1] == 0:
        out[:] = 0.0
        return
    form_a, step_a = _layout(A)
    form_b, step_b = _layout(B)
    forms = np.array([form_a, form_b], dtype=np.uint8)
    sizes = np.array(
        [out.shape[1], out.shape[0], A.shape[1], step_a, step_b, out.strides[0] // out.itemsize], dtype=np.int32
    )
    factors = np.array([1, 0], dtype=out.dtype)
    a, b, c = A.ctypes.data, B.ctypes.data, out.ctypes.data
    f, k, x = forms.ctypes.data, sizes.ctypes.data, factors.ctypes.data
    # what is A B by rows is Bᵀ Aᵀ by columns
    _call(gemm, (f + 1, f, k, k + 4, k + 8, x, b, k + 16, a, k + 12, x + out.itemsize, c, k + 20))
