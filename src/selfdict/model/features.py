"""What a problem asks of a solver, and the one check whether the solver offers it."""

from collections.abc import Iterable
from enum import Enum

from selfdict._errors import InputError
from selfdict.compute.device import Device
from selfdict.model.losses import Squared
from selfdict.model.problem import Problem


class Feature(Enum):
    """A feature that not every solver supports; the value names it in messages."""

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


class UnsupportedError(InputError):
    """Data, model and solver cannot be combined; raised before any work starts."""


def features_of(problem: Problem, device: Device = None) -> frozenset[Feature]:
    """Return the features that a problem asks of a solver; it is solved where its data lies."""
    if device is None:
        device = problem.data_device
    present = {
        Feature.DICTIONARY: problem.D is not None,
        Feature.SPARSE: problem.is_sparse,
        Feature.SAMPLE_WEIGHT: problem.sample_weight is not None,
        Feature.WEIGHTED_LOSS: problem.loss.quadratic and not isinstance(problem.loss, Squared),
        Feature.GENERAL_LOSS: not problem.loss.quadratic,
        Feature.RESIDUAL_TARGET: problem.target is not None and problem.target[0] == "residual",
        Feature.TRACE_TARGET: problem.target is not None and problem.target[0] == "trace",
        Feature.CONSTRAINT: problem.epsilon is not None,
        Feature.SMOOTH: problem.smooth > 0,
        Feature.GENERAL_PENALTY: problem.mu is not None and not problem.penalty.quadratic,
        Feature.GPU: str(device).startswith("cuda"),
    }
    return frozenset(feature for feature, is_asked in present.items() if is_asked)


def refusal(
    name: str,
    takes: frozenset[Feature],
    excludes: Iterable[frozenset[Feature]],
    asked: frozenset[Feature],
) -> str | None:
    """Return the sentence that says what is not offered, or None if everything is."""
    for feature in Feature:
        if feature in asked and feature not in takes:
            return f"{name} does not support {feature}"
    # each feature alone is taken; some do not go together
    for pair in excludes:
        if pair <= asked:
            first, second = (feature for feature in Feature if feature in pair)
            return f"{name} does not support {first} together with {second}"
    return None


def check_features(
    name: str,
    takes: frozenset[Feature],
    excludes: Iterable[frozenset[Feature]],
    asked: frozenset[Feature],
    others: Iterable[str] = (),
) -> None:
    """Raise :class:`UnsupportedError` if something is asked that is not offered.

    ``others`` are the solvers that take all of it, for the message.
    """
    sentence = refusal(name, takes, excludes, asked)
    if sentence is None:
        return
    advice = ""
    alternatives = list(others)
    if alternatives:
        advice = f"; use {' or '.join(alternatives)}"
    if Feature.SPARSE in asked:
        advice += "; or pass M.toarray() if it fits into memory"
    raise UnsupportedError(sentence + advice)
