"""The arrays of Algorithm 1 in memory: the last two projected points and their residuals.

:class:`GradientArrays` is the protocol that :mod:`selfdict.solvers.iteration` iterates with. The
class for a device is :class:`selfdict.solvers.gradient_device.DeviceArrays`.
"""

from typing import Protocol

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import even_slices, for_slices
from selfdict.kernels.projection import gradient_step, subtract_and_extrapolate
from selfdict.model.penalties import Penalty
from selfdict.solvers.gradient_data import GradientData


class GradientArrays(Protocol):
    """What an iteration needs of its arrays, wherever they lie.

    Y is the current projected point and Y_old the one before; R = M − DY and R_old are their
    residuals. β extrapolates from the old point through the current one.
    """

    @property
    def diagonal(self) -> Array:
        """The diagonal of Y, or its gates, as a numpy array."""

    def project(self, penalty: Penalty, beta: float) -> None:
        """Take a projected gradient step from the point extrapolated by β; it becomes Y."""

    def update_residual(self, beta: float) -> float:
        """Compute the residual of Y; return its weighted square, or twice the loss.

        ``beta`` is that of the next step, for arrays that extrapolate the residual at once.
        """

    def forget_extrapolation(self) -> None:
        """Prepare the next step for β = 0."""

    def residual(self) -> Array:
        """Return R in float64, as a numpy array."""

    def rows(self, support: Array) -> Array:
        """Return some rows of Y as a numpy array; frees what only further steps would need."""


def gate_weight(penalty: Penalty, step_size: float) -> float:
    """Return the weight of the square of a gate in a projection, for a quadratic penalty."""
    return 1.0 + step_size * float(penalty.curvature(np.zeros(1))[0])


class HostArrays:
    """The arrays in memory, with compiled kernels on slices of them; None starts at zero."""

    def __init__(self, data: GradientData, start: Array | None) -> None:
        self.data = data
        d = data.D.shape[1]
        n = data.M.shape[1]
        # as few slices as products allow, so that a slice of V stays in cache
        self.rows_per_slice = even_slices(d, 256)
        self.columns_per_slice = even_slices(n, 512)
        self.spare_slices: list[Array] = []  # slices of V that no thread uses at present
        if start is None:
            start = np.zeros((d, n), dtype=data.M.dtype)
        self.Y = start
        self.Y_old = start.copy()
        self.open: Array = np.asarray(start.any(axis=1))
        self.open_old = self.open.copy()
        self.R = np.zeros_like(data.M, order="C")
        self.R_old = np.zeros_like(self.R)
        self.E = np.zeros_like(self.R)  # ψ of the extrapolated residual, times s

    @property
    def diagonal(self) -> Array:
        if self.data.gate_column is None:
            return np.diagonal(self.Y)
        return self.Y[:, self.data.gate_column]

    def project(self, penalty: Penalty, beta: float) -> None:
        data = self.data
        n = data.M.shape[1]
        dtype = data.M.dtype
        # a penalty beyond the range closes all rows as well as the largest number does
        largest = float(np.finfo(dtype).max) / 16
        slope = np.minimum(penalty.slope, largest).astype(dtype)
        gate = -1  # for the kernel: on the diagonal
        if data.gate_column is not None:
            gate = data.gate_column

        def task(start: int, stop: int) -> None:
            if self.spare_slices:
                V = self.spare_slices.pop()
            else:
                V = np.empty((self.rows_per_slice, n), dtype=dtype)
            np.matmul(data.D[:, start:stop].T, self.E, out=V[: stop - start])
            gradient_step(
                V[: stop - start],
                self.Y,
                self.Y_old,
                self.open,
                self.open_old,
                beta,
                data.step_size,
                slope,
                gate_weight(penalty, data.step_size),
                data.w,
                start,
                gate,
            )
            self.spare_slices.append(V)

        for_slices(task, data.D.shape[1], self.rows_per_slice)
        self.Y, self.Y_old = self.Y_old, self.Y
        self.open, self.open_old = self.open_old, self.open
        self.R, self.R_old = self.R_old, self.R

    def update_residual(self, beta: float) -> float:
        data = self.data
        s = data.s
        if data.loss is not None:
            s = np.ones_like(data.s)
        D = data.D
        Y = self.Y
        rows = np.flatnonzero(self.open)
        # the copy of the open rows pays where a fifth of them is closed
        if rows.size < 0.8 * self.open.size:
            D = D[:, rows]
            Y = Y[rows]

        def task(start: int, stop: int) -> float:
            np.matmul(D, Y[:, start:stop], out=self.R[:, start:stop])
            square: float = subtract_and_extrapolate(
                data.M, self.R, self.R_old, s, beta, self.E, start, stop
            )
            return square

        square = float(sum(for_slices(task, Y.shape[1], self.columns_per_slice)))
        if data.loss is None:
            return square
        np.multiply(data.loss.gradient(self.E), data.s, out=self.E)
        return 2 * data.loss.total(self.R, data.s)

    def forget_extrapolation(self) -> None:
        psi = self.R
        if self.data.loss is not None:
            psi = self.data.loss.gradient(self.R)
        np.multiply(psi, self.data.s, out=self.E)

    def residual(self) -> Array:
        return self.R.astype(np.float64, copy=False)

    def rows(self, support: Array) -> Array:
        del self.Y_old, self.R_old, self.E  # make room for the copy of the open rows
        rows: Array = self.Y[support]
        return rows
