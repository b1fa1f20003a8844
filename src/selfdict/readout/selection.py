"""From X to indices: the columns of M, or of a dictionary, that a solution of model (6) selects."""

from dataclasses import replace

from scipy.sparse import issparse

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_rank
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import in_leading_directions
from selfdict.compute.threads import single_threaded_blas
from selfdict.model.solution import Solution
from selfdict.readout.evidence import READERS, Evidence
from selfdict.readout.exchange import EXTRA_DIRECTIONS, by_exchange, complete


def select_indices(
    solution: Solution,
    r: int,
    method: str = "auto",
    *,
    max_seconds: float | None = None,
) -> Array:
    """Select r columns of M, or r atoms of D, from a solution of model (6).

    Parameters
    ----------
    solution : Solution
        With its problem. For a problem reduced to representatives (:class:`Candidates`) the indices
        are those of all points.
    r : int
        The number of columns.
    method : {"auto", "diagonal", "spa", "clusters", "exchange"}
        - ``"diagonal"``: the r largest diagonal entries of X, as in Algorithm 1, or the r widest
          gates. Near-duplicates share weight in the optimum, so these can all show the same
          material.
        - ``"spa"``: SPA on the rows of X, in units where all columns of M and D have ℓ1 norm one
          (section 4.2).
        - ``"clusters"``: merge near-duplicates and add up their weights, after Gillis
          and Luce (JMLR 15, 2014).
        - ``"exchange"``: start from the three above and from a greedy choice, then exchange single
          columns as long as the relative error falls: first among the support and the
          representatives (with D: the support, or all of up to 1000 atoms), fitted to weighted
          representatives, then among all columns of M, or all atoms, fitted to all. Of selections
          whose errors agree to 0.2 %, the one whose abundances sum most nearly to one is taken.
          Deterministic and bounded in work. If it is predicted to take long, as for large r, a
          warning says so before it starts.
        - ``"auto"``: ``"exchange"``, which has the lowest error, up to that 0.2 %. It is ``"spa"``
          for a loss such as :class:`Huber`, because an exchange lowers squares, which outliers
          dominate, and ``"diagonal"`` for sparse data, which the other methods compare in its
          leading directions only.
    max_seconds : float, optional
        Time limit: the best selection so far is returned, and a warning says what was left out.
        Without a limit the selection does not depend on the speed of the machine.

    Returns
    -------
    (r,) ndarray of int
        Distinct indices, the most important first (for ``"exchange"``: in no particular order). If
        the support has fewer than r rows, columns that lower the error most are added.

    Raises
    ------
    ValueError
        If fewer than r columns suffice to explain all of M exactly.

    Examples
    --------
    >>> from selfdict import fast_gradient, select_indices
    >>> M = [[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]]
    >>> sorted(select_indices(fast_gradient(M, 0.1), 2).tolist())
    [0, 1]
    """
    deadline = Deadline(max_seconds)
    K = select_from(Evidence.of(solution), r, method, deadline)
    if deadline.skipped:
        warn_caller(f"Because of the time limit, {'; '.join(deadline.skipped)}.")
    return K


def select_from(evidence: Evidence, r: int, method: str, deadline: Deadline) -> Array:
    """Do what :func:`select_indices` does; what is skipped is recorded in the deadline."""
    of = "points"
    if not evidence.tied:
        of = "atoms"
    r = as_rank(r, evidence.A.shape[1], of=of)
    if method not in ("auto", "exchange", *READERS):
        names = ", ".join(map(repr, READERS))
        raise InputError(f"method must be one of 'auto', 'exchange', {names}, got {method!r}")
    loss = evidence.solution.problem.loss
    is_sparse = issparse(evidence.A)
    if method == "auto":
        method = "exchange"
        if is_sparse:
            method = "diagonal"
        elif not loss.quadratic:
            method = "spa"
    if is_sparse:
        q = min(r + 2 * EXTRA_DIRECTIONS, evidence.M.shape[0])
        small = in_leading_directions(evidence.M, q)[0]
        evidence = replace(evidence, M=small, A=small)
    if method != "exchange":
        chosen = evidence.points[READERS[method](evidence, r)]
        return complete(chosen, r, evidence, deadline)
    # in units of the noise, for a loss that knows it
    M = loss.whiten(evidence.M)
    A = M
    if not evidence.tied:
        A = loss.whiten(evidence.A)
    with single_threaded_blas():  # products are small, or taken inside slices
        return by_exchange(replace(evidence, M=M, A=A), r, deadline)
