"""Model (6) with every column a candidate, for a matrix that is read block by block.

The search is that of :class:`selfdict.WorkingSet`. It starts with a sample of the columns that is
held in memory, first with the sample as its candidates, then with all columns. In the end all
columns are fitted, and the dual bound is that of all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import numpy as np

from selfdict._validation import Array, check_columns
from selfdict.abundances import column_residuals, nnls
from selfdict.columns.block_columns import BlockColumns, forget
from selfdict.columns.blocks import BlockMatrix, BlockRows, ColumnBlocks
from selfdict.kernels.columns import column_norms, squared_norms
from selfdict.model.problem import Problem
from selfdict.model.scores import RowClusters, positive_norms
from selfdict.model.solution import Callback, Status, consistent_bound, relative_gap
from selfdict.solvers.descent import SAMPLE_TOL
from selfdict.solvers.heuristic import RELATIVE_OFFSET
from selfdict.solvers.search import Point, Search, SearchData, Stop
from selfdict.solvers.working_set import WorkingSet, solve_columns, spread_sample

# columns of the sample that carries the search
SAMPLE_SIZE = 50_000
# the part of the tolerance that bounds may take from the dual value
SPENT = 0.3


@dataclass(frozen=True)
class BlockSolution:
    """A certified solution whose coefficients are not stored."""

    # (k,): the open columns, increasing, and their diagonal entries
    support: Array
    t: Array
    sample: Array  # (l,): the columns that were held in memory, increasing
    mu: float
    objective: float
    dual_bound: float
    status: Status

    @property
    def gap(self) -> float:
        """The certified relative gap."""
        return relative_gap(self.objective, self.dual_bound)


def solve_blocks(
    blocks: ColumnBlocks,
    r: int,
    *,
    mu: float | None = None,
    smooth: float = 0.0,
    p: Callable[[int], Array] = np.ones,
    tol: float = 1e-2,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    sample_size: int = SAMPLE_SIZE,
) -> BlockSolution:
    """Solve model (6) for the columns of all blocks, none of which may be zero.

    ``mu`` is by default the paper's heuristic for r columns, from the errors of all columns;
    ``smooth`` is in units of it, and ``p`` returns the weights of the diagonal for n columns. The
    other settings are those of :class:`selfdict.WorkingSet`; ``sample_size`` columns are held in
    memory.
    """
    survey = _Survey.of(blocks, sample_size)
    n = len(survey.w)
    prices = p(n)
    if mu is None:
        mu = _heuristic_penalty(survey, r, prices)
    columns = _columns(survey, tol)
    # the model for the sample alone, whose columns stand for all
    sample = Problem(
        survey.M.kept_values,
        mu,
        w=survey.w[survey.sample],
        p=prices[survey.sample],
        sample_weight=np.full(len(survey.sample), n / len(survey.sample)),
        smooth=smooth * mu,
    )
    every = np.arange(n)
    data = SearchData(
        columns,
        penalty_at=sample.changed(p=prices).penalty_at,
        column_indices=every,
        row_indices=every,
        square=columns.square,
        constant=0.0,
    )
    # rows are never screened in part: those that are likely need not be in memory
    search = Search(data, mu, tol, max_seconds, callback, small=n + 1)
    found = WorkingSet(tol=max(tol, SAMPLE_TOL)).solve(sample)
    search.point = Point(survey.sample[found.support], found.diagonal[found.support].astype(float))
    try:
        if len(survey.sample) < n:
            solve_columns(search, survey.sample, None)
        gates, status = solve_columns(search, None, None)
    except Stop as stop:
        gates = search.certify()
        status = stop.status
    finally:
        blocks.everywhere(partial(forget, columns.search))
    is_open = gates.open_positions()
    return BlockSolution(
        support=gates.atoms[is_open],
        t=gates.t[is_open],
        sample=survey.sample,
        mu=mu,
        objective=search.objective,
        dual_bound=consistent_bound(search.bound, search.objective, search.rounding),
        status=status,
    )


@dataclass(frozen=True)
class _Survey:
    """What one pass over all columns gives."""

    M: BlockMatrix  # with the sample kept in memory
    # (n,): ‖m_j‖₁ and ‖m_j‖₂²
    w: Array
    squares: Array
    sample: Array  # (l,)

    @classmethod
    def of(cls, blocks: ColumnBlocks, sample_size: int) -> "_Survey":
        """Read all blocks once."""
        n = int(blocks.sizes.sum())
        sample = spread_sample(n, min(n, sample_size), np.random.default_rng(0))
        # which of the columns of each block belong to the sample does not depend on the values
        locator = BlockMatrix(blocks, sample, np.empty((0, len(sample))))
        answers = list(blocks.run(_survey_block, locator.split(sample)))
        values = np.concatenate([answer[2] for answer in answers], axis=1)
        M = BlockMatrix(blocks, sample, values)
        w = np.concatenate([answer[0] for answer in answers])
        squares = np.concatenate([answer[1] for answer in answers])
        return cls(M, w, squares, sample)


def _survey_block(M: Array, part: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """Return ℓ1 norms, squared norms and the columns of the sample of a block."""
    check_columns(M, "a block of M")
    return column_norms(M, np.float64), squared_norms(M), M[:, part[0]]


def _heuristic_penalty(survey: _Survey, r: int, p: Array) -> float:
    """Return :func:`selfdict.mu_heuristic` of all columns."""
    chosen, U = _spa(survey, r)
    square = sum(survey.M.run(partial(_squared_error, U)), start=0.0)
    offset = RELATIVE_OFFSET * float(survey.squares.sum())
    return float((square + offset) / p[chosen].sum())


def _spa(survey: _Survey, r: int) -> tuple[Array, Array]:
    """Return the columns that SPA selects, and their values (m, r): one pass for each of them."""
    basis = np.empty((survey.M.shape[0], 0))
    chosen = []
    values = []
    for _ in range(min(r, *survey.M.shape)):
        answers = list(survey.M.run(partial(_largest_residual, basis)))
        block = int(np.argmax([answer[0] for answer in answers]))
        square, local, column = answers[block]
        # what rounding leaves of columns that are combinations of the chosen ones
        if square <= 1e-12 * float(survey.squares.max()):
            break
        chosen.append(survey.M.edges[block] + local)
        values.append(column)
        basis = np.linalg.qr(np.column_stack(values).astype(np.float64))[0]
    return np.array(chosen), np.column_stack(values)


def _largest_residual(basis: Array, M: Array, number: int) -> tuple[float, int, Array]:
    """Return the column of a block that is furthest from the span of a basis."""
    squares = squared_norms(M)
    squares -= squared_norms(basis.T @ M)
    local = int(np.argmax(squares))
    return float(squares[local]), local, M[:, local]


def _squared_error(U: Array, M: Array, number: int) -> float:
    """Return the squared error of the best nonnegative combinations of columns U."""
    return float((column_residuals(U, M, nnls(U, M)) ** 2).sum())


def _columns(survey: _Survey, tol: float) -> BlockColumns:
    """Cluster all rows by the sample, and return the columns of the search."""
    n = len(survey.w)
    values = survey.M.kept_values
    clusters = RowClusters.of(values, positive_norms(values), n_rows=n)
    labels = list(survey.M.run(partial(_nearest, clusters)))
    clusters = RowClusters(np.concatenate(labels), clusters.centres, clusters.directions)
    rows = BlockRows(survey.M, survey.w, np.sqrt(survey.squares), clusters)
    return BlockColumns(survey.M, survey.squares, rows, SPENT * tol, uuid4().hex)


def _nearest(clusters: RowClusters, M: Array, number: int) -> Array:
    """Return the cluster of each column of a block."""
    return clusters.nearest(M, positive_norms(M))
