"""How the penalty μ of model (6) is chosen."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import as_matrix, as_rank, as_scalar, as_vector
from selfdict.abundances import column_residuals, nnls
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.omega import dictionary
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.spa import spa

RELATIVE_OFFSET = 1e-6
MAX_POINTS = 1000  # columns to which atoms of a dictionary are fitted for a first guess
TRIALS = 8  # atoms tried for each place of that guess


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
    """Return the paper's μ, which balances the two terms of model (6) at a first guess of the r columns.

    μ = (Σ_j s_j ‖m_j − M(:,K) h_j‖² + offset) / Σ_{i∈K} p_i, where K comes from SPA and H ≥ 0 is
    optimal. With another loss, twice the loss of the same residual is the numerator; for
    :class:`Weighted`, K and H come from whitened data.

    With a dictionary D, K holds r atoms, chosen one after the other to lower the residual most, and
    the numerator is divided by m and the mean of p(K): the energy of noise in one direction of m,
    about what an atom explains that fits noise alone. The paper's balance would close the gates of
    spectra that look alike.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
    r : int
        The number of columns sought; as many as the rank of M allows are used.
    p : (n,) or (d,) array_like, optional
        The weights of the diagonal, or of the gates; by default ones.
    sample_weight : (n,) array_like, optional
        Weights s_j of the columns in the residual.
    loss : "squared" or Loss
        What the residual costs. SPA and H do not guard against outliers, whatever the loss.
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
    A = M if D is None else dictionary(D, M)[0]
    r = as_rank(r, A.shape[1], of="points" if D is None else "atoms")
    p = as_vector(p, A.shape[1], "p", np.float64, default=np.ones(A.shape[1]), positive=True)
    s = as_vector(sample_weight, n, "sample_weight", np.float64, default=np.ones(n))
    M, A, s = loss.whiten(M), loss.whiten(A), loss.weigh(s)
    if D is None:
        K = spa(M, r, allow_fewer=True)
    else:
        some = slice(None, None, -(-n // MAX_POINTS))
        fit = Fit.of(M[:, some], s[some], A, M.shape[0])
        K = grow(fit, r, np.empty(0, dtype=np.int64), TRIALS, Budget())
    if K.size == 0:
        return 0.0  # nothing to choose: any penalty will do
    U = dense_columns(A, K)
    H = nnls(U, M)
    if loss.quadratic:
        square, whole = float(s @ column_residuals(U, M, H) ** 2), float(s @ squared_norms(M))
    else:
        square, whole = (2 * loss.total(R, s) for R in (M - U @ H, M))
    offset = RELATIVE_OFFSET * whole if offset is None else as_scalar(offset, "offset")
    count = K.size if D is None else M.shape[0]
    return (square + offset) / (count * float(p[K].mean()))
