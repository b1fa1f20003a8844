"""Algorithm 1 with its arrays on a device: the two products and the projection are taken there."""

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.compute.device import Device, Tensor, to_device
from selfdict.gpu.projection import gradient_step
from selfdict.model.penalties import Penalty
from selfdict.solvers.gradient_arrays import gate_weight
from selfdict.solvers.gradient_data import GradientData

# entries of the rows of V made at a time: enough to fill the GPU, little beside the n×n arrays
_V_ENTRIES = 1 << 26
_V_ROWS = 128  # the number of rows of V is a multiple of this, a tile of the product
_Y_ENTRIES = 1 << 27  # entries of the open rows of Y gathered at a time


class DeviceArrays:
    """:class:`GradientArrays` on a device, for problems without a dictionary: two are n×n."""

    def __init__(self, data: GradientData, start: Array | None, device: Device) -> None:
        torch = optional("torch")
        self.data = data
        self.device = device
        self.M = to_device(data.M, device)
        self.s = to_device(data.s, device)
        self.w = to_device(data.w, device)
        n = self.M.shape[1]
        like = {"dtype": self.M.dtype, "device": device}
        if start is None:
            self.Y = torch.zeros((n, n), **like)
        else:
            self.Y = to_device(start, device)
        self.Y_old = self.Y.clone()
        self.t = self.Y.diagonal().clone()
        self.t_old = self.t.clone()
        self.R = torch.zeros_like(self.M)
        self.R_old = torch.zeros_like(self.M)
        self.E = torch.zeros_like(self.M)
        rows = max(_V_ENTRIES // n // _V_ROWS, 1) * _V_ROWS
        self.V = torch.empty((min(rows, n), n), **like)
        self._diagonal: Array = self.t.cpu().numpy()

    @property
    def diagonal(self) -> Array:
        return self._diagonal

    def update_residual(self, beta: float) -> float:
        torch = optional("torch")
        n = self.M.shape[1]
        is_open = np.flatnonzero(self._diagonal)
        self.R.copy_(self.M)
        # gathering the open rows pays where a fifth of them is closed
        if is_open.size >= 0.8 * n:
            self.R.addmm_(self.M, self.Y, alpha=-1)
        else:
            for rows in to_device(is_open, self.device).split(max(1, _Y_ENTRIES // n)):
                self.R.addmm_(self.M[:, rows], self.Y[rows], alpha=-1)
        if self.data.loss is not None:
            value: Tensor = self.data.loss.value(self.R)
            return 2 * float((value.double() @ self.s.double()).sum())
        squares = torch.linalg.vector_norm(self.R, dim=0, dtype=torch.float64).square()
        return float(squares @ self.s.double())

    def project(self, penalty: Penalty, beta: float) -> None:
        torch = optional("torch")
        n = self.M.shape[1]
        torch.sub(self.R, self.R_old, out=self.E)
        self.E.mul_(beta).add_(self.R)
        if self.data.loss is not None:
            self.E = self.data.loss.gradient(self.E)
        self.E = self.E.mul_(self.s * self.data.step_size)
        # a penalty beyond the range closes all rows as well as a very large number does
        lowered = np.minimum(penalty.slope * self.data.step_size, 1e37)
        slope = to_device(lowered, self.device, self.data.M.dtype)
        factor = torch.full((), beta, dtype=self.M.dtype, device=self.device)
        weight = torch.full_like(factor, gate_weight(penalty, self.data.step_size))
        for start in range(0, n, len(self.V)):
            stop = min(start + len(self.V), n)
            V = torch.mm(self.M[:, start:stop].T, self.E, out=self.V[: stop - start])
            gradient_step(
                V, self.Y, self.Y_old, self.t, self.t_old, factor, slope, weight, self.w, start
            )
        self.Y, self.Y_old = self.Y_old, self.Y
        self.t, self.t_old = self.t_old, self.t
        self.R, self.R_old = self.R_old, self.R
        self._diagonal = self.t.cpu().numpy()

    def forget_extrapolation(self) -> None:
        """Do nothing: the residual is extrapolated when a step is taken."""

    def residual(self) -> Array:
        R: Array = self.R.double().cpu().numpy()
        return R

    def rows(self, support: Array) -> Array:
        rows: Array = self.Y[to_device(support, self.device)].cpu().numpy()
        return rows
