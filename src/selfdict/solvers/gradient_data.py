"""The arrays that Algorithm 1 iterates on, for model (6) and for dictionaries with gates alike."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.linear_algebra import onto_common_span, onto_span
from selfdict.model.losses import Loss
from selfdict.model.omega import project_omega
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution


@dataclass(frozen=True, eq=False)
class GradientData:
    """A problem as Algorithm 1 uses it.

    With a dictionary the gates are a last column of X: a point m = 0 that no residual counts. With
    atoms scaled to the ℓ1 norm ω, the mean of w, the constraints read ω X_ij ≤ w_j t_i: those of Ω,
    for rows whose own entry is the last one and has the weight ω.
    """

    # (q, n) and (q, d): data and atoms, the same array without a dictionary. q ≤ m: a tall M is
    # replaced by the triangle of its QR factorisation where only products of columns enter
    M: Array
    D: Array
    # (n,): weights of Ω and of the residual, with those of the gate column
    w: Array
    s: Array
    loss: Loss | None  # None for the squared one
    gate_column: int | None  # where the gates are; None: on the diagonal
    atom_scale: Array | None  # (d,): by how much the atoms of a dictionary were scaled
    # (n,): by how much columns were scaled: the roots of their sample weights. A point that counts
    # s times is one that is √s times as long, and the step is longer in these coordinates
    column_scale: Array | None
    step_size: float  # 1/L

    @classmethod
    def of(cls, problem: Problem) -> "GradientData":
        """Prepare a problem; L is σ_max² max_j s_j, times the constant of the loss."""
        M = problem.M
        D = problem.D
        s = problem.s
        loss: Loss | None = problem.loss
        if problem.loss.quadratic:
            M, D, s = problem.squared_form
            loss = None
        # iterates have the precision of the data; what they lead to is certified in float64
        dtype = problem.M.dtype
        M = M.astype(dtype, copy=False)
        s = s.astype(dtype)
        w = problem.w.astype(dtype)
        v = problem.v.astype(dtype)
        column_scale = None
        if loss is None and problem.sample_weight is not None and (s > 0).all():
            column_scale = np.sqrt(s)
            M = M * column_scale
            w = w * column_scale
            s = np.ones_like(s)
        gate_column = None
        atom_scale = None
        if D is not None:
            omega = M.dtype.type(w.mean()) or M.dtype.type(1.0)
            atom_scale = np.zeros_like(v)
            np.divide(omega, v, out=atom_scale, where=v > 0)
            gate_column = problem.n_points
            # the gates are one more column: a point of zeros whose residual has no weight
            M = np.pad(M, ((0, 0), (0, 1)))
            D = D.astype(dtype, copy=False) * atom_scale
            w = np.append(w, omega)
            s = np.append(s, s.dtype.type(0.0))
        lipschitz = squared_norm(_atoms(M, D)) * float(s.max())
        if loss is not None:
            lipschitz *= loss.lipschitz
        # projections need the squares of w, gradients those of the data
        limits = np.finfo(dtype)
        least = float(limits.tiny / limits.eps)
        most = float(limits.max * limits.eps)
        squared_weight = float(w.max()) ** 2
        if not (lipschitz <= most and (squared_weight == 0 or least <= squared_weight <= most)):
            raise InputError(
                f"the squares of the data or of w leave the range of {dtype}, got {lipschitz:.1g} "
                f"and {squared_weight:.1g}; scale them, pass data in double precision or use "
                "working_set"
            )
        step_size = 0.0
        if lipschitz > 0:
            step_size = 1 / lipschitz
        # only products of columns enter a squared loss; another loss needs the entries themselves
        if loss is None and D is None:
            M = onto_span(M)
        elif loss is None and D is not None:
            M, D = onto_common_span(M, D)
        return cls(
            M=M,
            D=_atoms(M, D),
            w=w,
            s=s,
            loss=loss,
            gate_column=gate_column,
            atom_scale=atom_scale,
            column_scale=column_scale,
            step_size=step_size,
        )

    def start(self, start: Solution) -> Array:
        """Return a first point projected onto Ω, with a column of gates for a dictionary."""
        X = start.toarray().astype(self.M.dtype, copy=False)
        if self.column_scale is not None:
            X = X * self.column_scale
        if self.column_scale is not None and self.atom_scale is None:  # rows are columns of M, too
            X = X / self.column_scale[:, None]
        if self.atom_scale is None:
            return project_omega(X, self.w)
        # X counts atoms as they were given
        scale = np.zeros_like(self.atom_scale)
        np.divide(1.0, self.atom_scale, out=scale, where=self.atom_scale > 0)
        rows = np.column_stack([X * scale[:, None], start.diagonal]).astype(self.M.dtype)
        return project_omega(rows, self.w, np.full(len(X), self.gate_column))

    def coefficients(self, rows: Array, support: Array) -> Array:
        """Return rows of the iterate as rows of X: without gates, for atoms as they were given."""
        if self.gate_column is not None and self.atom_scale is not None:
            rows = rows[:, : self.gate_column] * self.atom_scale[support, None]
        elif self.column_scale is not None:
            rows = rows * self.column_scale[support, None]
        if self.column_scale is not None:
            rows = rows / self.column_scale
        return rows


def _atoms(M: Array, D: Array | None) -> Array:
    if D is None:
        return M
    return D


def squared_norm(M: Array) -> float:
    """Return σ_max(M)², from above: exactly for a small side, else by Lanczos plus its residual."""
    small = M
    if M.shape[0] > M.shape[1]:
        small = M.T
    side = small.shape[0]
    if side <= 600:
        small = small.astype(np.float64, copy=False)
        products = small @ small.T
        top = float(scipy.linalg.eigvalsh(products, subset_by_index=[side - 1, side - 1])[0])
        rounding = 1e-6
        if M.dtype == np.float64:
            rounding = 1e-14
        return max(top, 0.0) * (1 + rounding)
    # Imported here, since few problems have that many points and features.
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((side, side), matvec=lambda v: small @ (small.T @ v), dtype=M.dtype)
    start = np.random.default_rng(0).random((side,)).astype(M.dtype)
    values, vectors = eigsh(operator, k=1, v0=start, tol=1e-4)
    v = vectors[:, 0]
    return float(values[0] + np.linalg.norm(operator @ v - values[0] * v))
