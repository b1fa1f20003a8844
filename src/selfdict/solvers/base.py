"""The base class of solvers: settings, the features they support, and the check of a problem."""

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import UnsupportedError
from selfdict.model.losses import Squared
from selfdict.model.problem import Problem
from selfdict.model.solution import Callback, Solution


class Feature(Enum):
    """A feature of a problem that not every solver supports; the value names it in messages."""

    DICTIONARY = "a dictionary D"
    SPARSE = "sparse data"
    SAMPLE_WEIGHT = "sample_weight"
    WEIGHTED_LOSS = "a quadratic loss other than the squared one"
    GENERAL_LOSS = "a loss that is not quadratic"
    RESIDUAL_TARGET = 'the target ("residual", eps)'
    TRACE_TARGET = 'the target ("trace", value)'
    CONSTRAINT = "epsilon, model (4)"
    SMOOTH = "smooth, squares of the gates"
    GENERAL_PENALTY = "a penalty that is not quadratic"
    GPU = 'device="cuda"'

    def __str__(self) -> str:
        return self.value


class Solver(ABC):
    """A method for the models of the paper: a frozen dataclass of settings with ``solve``.

    A subclass sets the class attributes, validates its settings in ``__post_init__`` and implements
    ``_solve``. Nothing else has to change for a new solver.

    Attributes
    ----------
    name : str
        The name in messages and in :class:`selfdict.FGNSR`; also that of the equivalent function.
    takes : frozenset of Feature
        What it supports besides model (6) with the squared loss on dense data.
    max_points : float
        The largest number of points, and of atoms, that it handles.
    registered : dict of str to type
        All solvers by name.
    """

    name: ClassVar[str]
    takes: ClassVar[frozenset[Feature]]
    max_points: ClassVar[float] = np.inf
    registered: ClassVar[dict[str, type["Solver"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # FGNSR finds a solver by its name, and messages name the solvers that would do. A subclass
        # of a solver without a name of its own does not replace it.
        if "name" not in cls.__dict__:
            return
        holder = Solver.registered.get(cls.name, cls)
        if (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"the name {cls.name!r} is used by the solver {holder.__qualname__} already"
            )
        Solver.registered[cls.name] = cls

    def asked(self, problem: Problem) -> frozenset[Feature]:
        """Return the features that a problem asks of this solver."""
        device = getattr(self, "device", None) or problem.data_device
        kind = None
        if problem.target is not None:
            kind = problem.target[0]
        present = {
            Feature.DICTIONARY: problem.D is not None,
            Feature.SPARSE: problem.is_sparse,
            Feature.SAMPLE_WEIGHT: problem.sample_weight is not None,
            Feature.WEIGHTED_LOSS: problem.loss.quadratic and not isinstance(problem.loss, Squared),
            Feature.GENERAL_LOSS: not problem.loss.quadratic,
            Feature.RESIDUAL_TARGET: kind == "residual",
            Feature.TRACE_TARGET: kind == "trace",
            Feature.CONSTRAINT: problem.epsilon is not None,
            Feature.SMOOTH: problem.smooth > 0,
            Feature.GENERAL_PENALTY: problem.mu is not None and not problem.penalty.quadratic,
            Feature.GPU: str(device).startswith("cuda"),
        }
        return frozenset(feature for feature, is_asked in present.items() if is_asked)

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if this solver cannot handle the problem."""
        self.check_features(self.asked(problem), max(problem.n_points, problem.n_atoms))

    def check_features(self, asked: frozenset[Feature], size: int) -> None:
        """Raise :class:`selfdict.UnsupportedError` for features, or a number of points, too many.

        ``size`` is the number of points or of atoms, whichever is larger.
        """
        missing = [str(feature) for feature in Feature if feature in asked - self.takes]
        if size > self.max_points:
            missing.append(f"more than {self.max_points} points, got {size}")
        if not missing:
            return
        message = f"{self.name} does not support {missing[0]}"
        others = [
            name
            for name, cls in Solver.registered.items()
            if asked <= cls.takes and size <= cls.max_points
        ]
        if others:
            message += f"; use {' or '.join(others)}"
        if Feature.SPARSE in asked:
            message += "; or pass M.toarray() if it fits into memory"
        raise UnsupportedError(message)

    def solve(
        self,
        problem: Problem,
        start: ArrayLike | Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve a problem.

        Parameters
        ----------
        problem : Problem
            What to solve; refused before any work starts if the solver does not support it.
        start : Solution or (n, n) array_like, optional
            Where to start; with a dictionary, a Solution.
        callback : callable, optional
            Called with a :class:`selfdict.model.Progress` after each step; the solver stops if it
            returns a true value.

        Returns
        -------
        Solution
            With its problem at the final penalty, and with a certificate.
        """
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a Problem(M, mu, …), got {type(problem).__name__}")
        self.check(problem)
        if start is not None:
            start = _as_solution(start, problem)
        return self._solve(problem, start, callback)

    @abstractmethod
    def _solve(
        self, problem: Problem, start: Solution | None, callback: Callback | None
    ) -> Solution:
        """Solve a problem that has passed :meth:`check`."""


def _as_solution(start: ArrayLike | Solution, problem: Problem) -> Solution:
    """Return a start as a solution of the problem, feasible or not."""
    if isinstance(start, Solution):
        return start.for_problem(problem)
    if problem.D is not None:
        raise TypeError(
            "with a dictionary D, X0 must be a Solution, which has gates; "
            f"got {type(start).__name__}"
        )
    return Solution.from_matrix(start, problem)
