"""Problems with data of any unit: scaled by a power of two before work starts, and scaled back.

Squares of very large or small numbers leave the range of floating point, in float32 long before
float64. With M' = 2⁻ᵉ M and D' = 2⁻ᶠ D the problem with μ' = 4⁻ᵉ μ has the same gates, X' = 2ᶠ⁻ᵉ X,
and 4⁻ᵉ times the objective. Powers of two change no digit of numbers that stay inside the range:
:class:`Problem` refuses columns that are so much smaller than others that they would not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.scaling import times_power_of_two, unusual_exponent
from selfdict.model.problem import Problem
from selfdict.model.solution import Callback, Progress, Solution


@dataclass(frozen=True)
class Rescaling:
    """The powers of two by which data and dictionary are divided."""

    # the exponents e and f; the same without a dictionary
    data: int
    atoms: int

    @classmethod
    def of(cls, problem: Problem) -> "Rescaling | None":
        """Return the rescaling that a problem needs; None if its unit is an ordinary one."""
        data = unusual_exponent(problem.M)
        atoms = data
        if problem.D is not None:
            atoms = unusual_exponent(problem.D)
        if data == 0 and atoms == 0:
            return None
        if problem.loss.rescaled(1.0) is None:
            return None  # a loss of the user's own, which may know its unit
        return cls(data, atoms)

    def scaled(self, problem: Problem) -> Problem:
        """Return the problem in the new unit."""
        e = self.data
        changes: dict[str, Any] = {
            "M": times_power_of_two(problem.M, -e),
            "w": np.ldexp(problem.w, -e),
            "v": np.ldexp(problem.v, -e),
            "loss": problem.loss.rescaled(2.0**-e),
        }
        if problem.D is not None:
            changes["D"] = times_power_of_two(problem.D, -self.atoms)
            changes["v"] = np.ldexp(problem.v, -self.atoms)
        if problem.mu is not None:
            changes["mu"] = _scaled_penalty("mu", problem.mu, e)
        changes["smooth"] = _scaled_penalty("smooth", problem.smooth, e)
        if problem.epsilon is not None:
            changes["epsilon"] = float(np.ldexp(problem.epsilon, -e))
        if problem.target is not None and problem.target[0] == "residual":
            changes["target"] = ("residual", float(np.ldexp(problem.target[1], -e)))
        return problem.changed(**changes)

    def scaled_start(self, start: Any) -> Any:
        """Return a start in the new unit; a plain matrix belongs to the data itself, and stays."""
        if not isinstance(start, Solution) or self.data == self.atoms:
            return start
        return replace(start, coef=times_power_of_two(start.coef, self.atoms - self.data))

    def callback(self, callback: Callback | None) -> Callback | None:
        """Return a callback that sees the numbers in the old unit."""
        if callback is None:
            return None
        given = callback

        def in_old_unit(progress: Progress) -> Any:
            return given(
                replace(
                    progress,
                    objective=self._squared(progress.objective),
                    mu=self._squared(progress.mu),
                    residual=float(np.ldexp(progress.residual, self.data)),
                )
            )

        return in_old_unit

    def undo(self, solution: Solution, problem: Problem) -> Solution:
        """Return a solution of the scaled problem as one of the problem itself."""
        objective = solution.objective
        bound = solution.dual_bound
        solved = problem
        if solution.epsilon is None:
            objective = self._squared(objective)
            bound = self._squared(bound)
            mu = problem.mu
            if mu is None or problem.target is not None:
                mu = self._squared(solution.mu)
            solved = problem.with_mu(mu)
        elif problem.epsilon is None and solution.epsilon is not None:
            # a target that was turned into model (4)
            epsilon = float(np.ldexp(solution.epsilon, self.data))
            solved = problem.changed(mu=None, epsilon=epsilon, target=None)
        return replace(
            solution,
            coef=times_power_of_two(solution.coef, self.data - self.atoms),
            objective=objective,
            dual_bound=bound,
            problem=solved,
            history=self._history(solution.history),
        )

    def _squared(self, value: float) -> float:
        return float(np.ldexp(value, 2 * self.data))

    def _history(self, history: Mapping[str, Array]) -> dict[str, Array]:
        exponents = {"objective": 2, "dual_bound": 2, "mu": 2, "residual": 1}
        scaled = dict(history)
        for name, power in exponents.items():
            if name in scaled:
                scaled[name] = np.ldexp(scaled[name], power * self.data)
        return scaled


def _scaled_penalty(name: str, value: float, exponent: int) -> float:
    """Return 4⁻ᵉ times μ or ν; raise if that leaves the range of float64."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = float(np.ldexp(value, -2 * exponent))
    if value > 0 and not np.finfo(np.float64).tiny <= scaled < np.inf:
        raise InputError(
            f"{name} has the unit of squares of M: {value:.1g} is out of range for entries of the "
            f"order of 2**{exponent}"
        )
    return scaled
