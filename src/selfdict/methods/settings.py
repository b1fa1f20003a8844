"""The parameters of FGNSR as objects: solver and reductions; and what to say at the end."""

import re
from dataclasses import replace

from numpy.typing import ArrayLike

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_matrix
from selfdict.methods.checks import as_plain
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status
from selfdict.peers import Clusters
from selfdict.reductions import Candidates
from selfdict.reductions.prediction import choose_by_samples
from selfdict.solvers import FastGradient, Solver, WorkingSet


def as_solver(
    solver: str | Solver, loss: Loss | str, tol: float | None, max_seconds: float | None
) -> Solver:
    """Return the solver object; ``tol`` and ``max_seconds`` replace its own if given."""
    if isinstance(solver, str):
        solver = solver_class(solver, loss)()
    for name, value in (("tol", tol), ("max_seconds", max_seconds)):
        if value is None:
            continue
        if not hasattr(solver, name):
            raise InputError(f"the solver {solver.name} has no {name}, got {name}={value!r}")
        solver = replace(solver, **{name: value})  # type: ignore[type-var]  # all are dataclasses
    return solver


def solver_class(solver: str | Solver, loss: Loss | str) -> type[Solver]:
    """Return the class of a solver given by name or as an object; "auto" depends on the loss."""
    if not isinstance(solver, str):
        return type(solver)
    if solver == "auto":
        if as_loss(loss).quadratic:
            return WorkingSet
        return FastGradient
    if solver not in Solver.registered:
        names = ", ".join(["auto", *Solver.registered])
        raise InputError(f"solver must be one of {names}, or a Solver, got {solver!r}")
    return Solver.registered[solver]


def in_words_of_solver(message: str) -> str:
    """Return the refusal of a solver in the words of the argument ``solver``."""
    refusal, separator, advice = message.partition("; use ")
    names = "|".join(Solver.registered)
    refusal = re.sub(rf"^({names})\b", r'solver="\1"', refusal)
    return refusal + separator + re.sub(rf"\b({names})\b", r'solver="\1"', advice)


def as_candidates(
    candidates: int | str | Candidates | None, problem: Problem, n_components: int, solver: Solver
) -> tuple[Candidates | None, str]:
    """Return the reduction that a number of clusters, or "auto", stands for, and why."""
    if candidates is None:
        return None, "All points are candidates, as asked for."
    if candidates != "auto":
        if not isinstance(candidates, Candidates):
            candidates = Candidates(int(candidates))
        n_clusters = candidates.n_clusters
        return candidates, f"{n_clusters} cluster representatives are the candidates, as asked for."
    is_plain = problem.D is None and not problem.is_sparse and isinstance(problem.loss, Squared)
    if not is_plain or not isinstance(solver, WorkingSet):
        return None, (
            "All points are candidates: only dense data, the squared loss and the solver "
            "working_set are reduced by default."
        )
    choice = choose_by_samples(problem, n_components, solver.max_seconds)
    if choice.n_clusters is None:
        return None, choice.reason
    return Candidates(choice.n_clusters), choice.reason


def as_mu(mu: str | float) -> float | None:
    """Return the penalty if it is a number, None if it is to be chosen."""
    if isinstance(mu, str):
        return None
    return float(mu)


def as_atoms(dictionary: ArrayLike, n_features: int) -> Array:
    """Return the rows of a dictionary, checked."""
    atoms = as_matrix(as_plain(dictionary), "dictionary")
    if atoms.shape[1] != n_features:
        raise InputError(f"the dictionary has {atoms.shape[1]} features, X has {n_features}")
    return atoms


def missed_tolerance(solution: Solution, solver: Solver, has_target: bool) -> str:
    """Return a sentence if the solver ended above its tolerance or off its target, else nothing."""
    tol = getattr(solver, "tol", 0.0)
    is_done = solution.status in (Status.CONVERGED, Status.EXACT)
    missed_target = has_target and not is_done
    if tol > 0 and (solution.gap > tol or missed_target):
        return f"{solution.status} The certified gap is {solution.gap:.1e}, tol is {tol:g}."
    return ""


def warn_of_an_early_end(ending: str, skipped: tuple[str, ...]) -> None:
    """Warn if the solver ended early, or if a time limit left something out, and say what to do."""
    sentences = []
    if ending:
        sentences.append(ending)
    if skipped:
        sentences.append(f"The time limit left something out: {'; '.join(skipped)}.")
    if sentences:
        # Imported here: scikit-learn takes half a second.
        from sklearn.exceptions import ConvergenceWarning

        warn_caller(" ".join(sentences), ConvergenceWarning)


def clusters_of(solution: Solution) -> Clusters | None:
    """Return the clusters whose representatives a solution belongs to, if any."""
    problem = solution.problem
    while problem.reduced_from is not None:
        link = problem.reduced_from
        if isinstance(link.step, Candidates):
            clusters: Clusters = link.memory
            return clusters
        problem = link.problem
    return None
