"""What all solvers share: settings, a declaration of what they take, and one check of it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from selfdict.compute.device import Device
from selfdict.model.features import Feature, check_features, features_of, refusal
from selfdict.model.problem import Problem
from selfdict.model.solution import Callback, Solution


class Solver(ABC):
    """A method for the models of the paper: a frozen dataclass of settings with ``solve``.

    A subclass sets the four class attributes, validates its settings in ``__post_init__`` and
    implements ``_solve``. Nothing else has to change for a new solver.

    Attributes
    ----------
    name : str
        The name in messages and in :class:`selfdict.FGNSR`; also that of the equivalent function.
    takes : frozenset of Feature
        What it supports besides model (6) with the squared loss on dense data.
    excludes : tuple of frozenset of Feature
        Pairs of these that cannot be combined.
    registered : dict of str to type
        All solvers by name.
    """

    name: ClassVar[str]
    takes: ClassVar[frozenset[Feature]]
    excludes: ClassVar[tuple[frozenset[Feature], ...]] = ()
    registered: ClassVar[dict[str, type["Solver"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # FGNSR finds a solver by its name, and messages name the solvers that would do. A subclass
        # of a solver without a name of its own does not replace it.
        if "name" not in cls.__dict__:
            return
        holder = Solver.registered.get(cls.name, cls)
        if (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"the name {cls.name!r} is that of the solver {holder.__qualname__}")
        Solver.registered[cls.name] = cls

    @property
    def wanted_device(self) -> Device:
        """The device in the settings; None for the device of the data."""
        device: Device = getattr(self, "device", None)
        return device

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if this solver cannot handle the problem."""
        self.check_features(features_of(problem, self.wanted_device))
        self.check_size(problem.n_points, problem.n_atoms)

    def check_features(self, asked: frozenset[Feature]) -> None:
        """Raise :class:`selfdict.UnsupportedError` if the solver does not support all of these."""
        others = [
            name
            for name, cls in Solver.registered.items()
            if refusal(name, cls.takes, cls.excludes, asked) is None
        ]
        check_features(self.name, self.takes, self.excludes, asked, others)

    def check_size(self, n_points: int, n_atoms: int) -> None:
        """Raise :class:`selfdict.UnsupportedError` if there are too many points or atoms."""
        return

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
        self.check(problem)
        return self._solve(problem, start, callback)

    @abstractmethod
    def _solve(
        self, problem: Problem, start: ArrayLike | Solution | None, callback: Callback | None
    ) -> Solution:
        """Solve a problem that has passed :meth:`check`."""


def capability_table() -> list[dict[str, str]]:
    """Return what each solver takes, one row per solver, for the documentation and for tests."""
    rows = []
    for name, cls in Solver.registered.items():
        row = {"solver": name}
        for feature in Feature:
            row[str(feature)] = _cell(cls, feature)
        rows.append(row)
    return rows


def _cell(cls: type[Solver], feature: Feature) -> str:
    """Return "yes", "no", or "yes, not with …"."""
    if feature not in cls.takes:
        return "no"
    partners: list[str] = []
    for pair in cls.excludes:
        if feature in pair:
            partners.extend(str(other) for other in pair - {feature})
    if partners:
        return "yes, not with " + ", ".join(sorted(partners))
    return "yes"
