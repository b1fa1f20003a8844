"""What ``unmix`` leaves out when the time does not suffice, and what it announces."""

from dataclasses import replace
from typing import Any

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import nnls, shares
from selfdict.abundances.nnls import MANY_ENDMEMBERS, predicted_seconds
from selfdict.compute.deadline import in_words
from selfdict.scene.request import UnmixRequest
from selfdict.scene.selection import Selection
from selfdict.scene.thinning import Points

_LONG = 60.0  # seconds of mapping that are announced
_LATE = 5.0  # seconds of mapping after a time limit that are announced


def fit_mapping_in_time(
    request: UnmixRequest, selection: Selection, points: Points, client: Any
) -> UnmixRequest:
    """Return the request without standard errors if the time limit does not suffice for them.

    Maps that end after the limit, and without a limit maps of many endmembers that take long, are
    announced.
    """
    deadline = request.deadline
    # Maps of fewer endmembers take long for the number of pixels alone, which a user expects.
    has_many = request.r >= MANY_ENDMEMBERS
    if deadline.left is None:
        if has_many and client is None:
            _announce_if_long(request, _seconds_of_mapping(request, selection, points))
        return request
    is_late = has_many and deadline.passed  # even a prediction with standard errors takes long
    if request.uncertainty and not is_late:
        is_late = not deadline.affords(_seconds_of_mapping(request, selection, points))
    if request.uncertainty and is_late:
        deadline.skip("standard errors of the abundances were not mapped")
        request = replace(request, uncertainty=False)
    if is_late and client is None:
        _announce_if_late(request, _seconds_of_mapping(request, selection, points))
    return request


def _seconds_of_mapping(request: UnmixRequest, selection: Selection, points: Points) -> float:
    def work(columns: Array) -> None:
        if request.uncertainty:
            shares(
                selection.U,
                columns,
                illumination=selection.illumination,
                return_std=True,
                variability=selection.variability,
            )
        else:
            nnls(selection.U, columns)

    seconds = predicted_seconds(work, points.values.T)
    # The points may be a sample of the pixels.
    n_pixels = request.scene.sizes["y"] * request.scene.sizes["x"]
    return seconds * n_pixels / len(points.values)


def _announce_if_long(request: UnmixRequest, seconds: float) -> None:
    if seconds <= _LONG:
        return
    advice = ""
    if request.uncertainty:
        advice = "; without their standard errors (uncertainty=False) it is quicker"
    warn_caller(f"mapping {request.r} endmembers takes about {in_words(seconds)} here{advice}")


def _announce_if_late(request: UnmixRequest, seconds: float) -> None:
    left = request.deadline.left or 0.0
    if seconds <= left + _LATE:
        return
    warn_caller(
        f"mapping {request.r} endmembers takes about {in_words(seconds)} here, which the time "
        "limit does not cover: every pixel is mapped"
    )
