"""How the penalty μ of model (6) is chosen."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank, as_scalar, as_vector
from selfdict.abundances import column_residuals, nnls
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.problem import as_dictionary
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.successive import spa

# part of the energy of the data that is added to its residual: keeps μ positive without noise
RELATIVE_OFFSET = 1e-6


def mu_heuristic(
    M: ArrayLike,
    r: int,
    p: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    loss: Loss | str = "squared",
    offset: float | None = None,
    D: ArrayLike | None = None,
) -> float:
    """Return the paper's μ, which balances the terms of model (6) at a first choice of r columns.

    μ = (Σ_j s_j ‖m_j − M(:,K) h_j‖² + offset) / Σ_{i∈K} p_i, where K comes from SPA and H ≥ 0 is
    optimal. With another loss, twice the loss of the same residual is the numerator; for
    :class:`Weighted`, K and H come from whitened data.

    With a dictionary D, K are r atoms selected greedily by the residual, and the numerator is
    divided by m and the mean of p(K): the noise energy in one of m directions, about what an atom
    that fits only noise explains. The paper's rule would close the gates of similar spectra.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
    r : int
        The number of columns sought; if the rank of M is smaller, fewer are used.
    p : (n,) or (d,) array_like, optional
        The weights of the diagonal, or of the gates; by default ones.
    sample_weight : (n,) array_like, optional
        Weights s_j of the columns in the residual.
    loss : "squared" or Loss
        The loss. SPA and H are not robust against outliers, whatever the loss.
    offset : float, optional
        Keeps μ positive on data without noise. By default 1e-6 of the numerator for H = 0, which
        scales with the data; the authors' program adds 1e-3 whatever the unit of M is:
        ``offset=1e-3`` does the same.
    D : (m, d) array_like, optional
        A dictionary; by default M itself.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import mu_heuristic
    >>> M = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    >>> bool(np.isclose(mu_heuristic(M, 2), 1e-6 * 2.5 / 2))
    True
    """
    loss = as_loss(loss)
    M = as_matrix(M, sparse=D is None and isinstance(loss, Squared))
    n = M.shape[1]
    atoms = M
    of = "points"
    if D is not None:
        atoms = as_dictionary(D, M).astype(M.dtype, copy=False)
        of = "atoms"
    d = atoms.shape[1]
    r = as_rank(r, d, of=of)
    p = as_vector(p, d, "p", np.float64, default=np.ones(d), positive=True)
    s = as_vector(sample_weight, n, "sample_weight", np.float64, default=np.ones(n))
    M = loss.whiten(M)
    s = loss.weigh(s)
    if D is None:
        atoms = M
        # data of low rank has fewer extreme columns than asked for
        K = spa(M, r, allow_fewer=True)
    else:
        atoms = loss.whiten(atoms)
        K = _likely_atoms(M, s, atoms, r)
    if K.size == 0:
        return 0.0  # nothing to choose: any penalty will do
    U = dense_columns(atoms, K)
    H = nnls(U, M)
    if loss.quadratic:
        with single_threaded_blas():  # several threads would round in another order
            square = float(s @ column_residuals(U, M, H) ** 2)
            whole = float(s @ squared_norms(M))
    else:
        square = 2 * loss.total(M - U @ H, s)
        whole = 2 * loss.total(M, s)
    if offset is None:
        offset = RELATIVE_OFFSET * whole
    else:
        offset = as_scalar(offset, "offset")
    count = K.size
    # with a dictionary the energy of noise per direction of m is meant, not per atom
    if D is not None:
        count = M.shape[0]
    return (square + offset) / (count * float(p[K].mean()))


def _likely_atoms(M: Array, s: Array, atoms: Array, r: int) -> Array:
    """Return r atoms of a dictionary, chosen greedily by their fit to at most 1000 columns."""
    step = -(-M.shape[1] // 1000)
    fit = Fit.of(M[:, ::step], s[::step], atoms, M.shape[0])
    return grow(fit, r, np.empty(0, dtype=np.int64), 8, Budget())
