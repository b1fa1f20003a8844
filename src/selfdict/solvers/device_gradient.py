"""Algorithm 1 with its arrays on a device: the same iteration, with the two products and the projection there."""

from typing import Any

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.compute.device import to_device, to_numpy
from selfdict.gpu.projection import gradient_step
from selfdict.model.problem import Problem, Target
from selfdict.solvers.iterate import ALPHA_0, Iterate

_V_ENTRIES = (
    1 << 26
)  # of the rows of V made at a time: enough to fill the GPU, little beside the n×n arrays
_V_ROWS = 128  # at least, and a multiple of it: a tile of the product
_Y_ENTRIES = 1 << 27  # of the open rows of Y gathered at a time


class DeviceIterate(Iterate):
    """The state of Algorithm 1 on a device. Two n×n arrays lie there, and nothing else of that size."""

    def __init__(
        self, problem: Problem, L: float, target: Target | None, start: Array | None, device: Any
    ) -> None:
        self.device = device
        super().__init__(problem, L, target, start)

    def _allocate(self, start: Array | None) -> None:
        torch, problem = optional("torch"), self.problem
        n = self.M.shape[1]
        self.tensor = to_device(self.M, self.device)
        self.s, self.p, self.w = (
            to_device(v, self.device) for v in (problem.s, problem.p, problem.w)
        )
        like = {"dtype": self.tensor.dtype, "device": self.device}
        self.Y = torch.zeros((n, n), **like) if start is None else to_device(start, self.device)
        self.Y_old = self.Y.clone()
        self.t, self.t_old = self.Y.diagonal().clone(), self.Y.diagonal().clone()
        self.R, self.R_old, self.E = (torch.zeros_like(self.tensor) for _ in range(3))
        rows = max(_V_ENTRIES // n // _V_ROWS, 1) * _V_ROWS
        self.V = torch.empty((min(rows, n), n), **like)
        self._diagonal: Array = self.t.cpu().numpy()

    @property
    def diagonal(self) -> Array:
        """The diagonal of the current point."""
        return self._diagonal

    def _restart(self) -> None:
        self.alpha, self.beta = ALPHA_0, 0.0

    def _residual(self) -> float:
        torch, M = optional("torch"), self.tensor
        n = M.shape[1]
        is_open = np.flatnonzero(self._diagonal)
        self.R.copy_(M)
        if is_open.size >= 0.8 * n:
            self.R.addmm_(M, self.Y, alpha=-1)
        else:
            for rows in to_device(is_open, self.device).split(max(1, _Y_ENTRIES // n)):
                self.R.addmm_(M[:, rows], self.Y[rows], alpha=-1)
        if self.loss is not None:
            return 2 * self.loss.total(to_numpy(self.R), self.problem.s)
        squares = torch.linalg.vector_norm(self.R, dim=0, dtype=torch.float64).square()
        return float(squares @ self.s.double())

    def _project(self) -> None:
        torch, M, n = optional("torch"), self.tensor, self.tensor.shape[1]
        torch.sub(self.R, self.R_old, out=self.E)
        self.E.mul_(self.beta).add_(self.R)
        if self.loss is not None:
            self.E = to_device(self._slope(to_numpy(self.E)), self.device)
        self.E.mul_(self.s * self.step_size)
        penalty = self.p * (self.mu * self.step_size)
        beta = torch.full((), self.beta, dtype=M.dtype, device=self.device)
        for start in range(0, n, len(self.V)):
            stop = min(start + len(self.V), n)
            V = torch.mm(M[:, start:stop].T, self.E, out=self.V[: stop - start])
            gradient_step(V, self.Y, self.Y_old, self.t, self.t_old, beta, penalty, self.w, start)
        self.Y, self.Y_old = self.Y_old, self.Y
        self.t, self.t_old = self.t_old, self.t
        self._diagonal = self.t.cpu().numpy()

    def _rows(self, support: Array) -> Array:
        rows: Array = self.Y[to_device(support, self.device)].cpu().numpy()
        return rows
