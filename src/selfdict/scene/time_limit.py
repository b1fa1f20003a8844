"""What ``unmix`` leaves out when the time does not suffice, and what it announces."""

import warnings
from dataclasses import replace
from typing import Any

from selfdict._errors import InputWarning
from selfdict._validation import Array
from selfdict.abundances import shares
from selfdict.abundances.prediction import predicted_seconds, seconds_of_nnls
from selfdict.compute.deadline import in_words
from selfdict.scene.request import UnmixRequest
from selfdict.scene.selection import Selection
from selfdict.scene.thinning import Points

# Maps of fewer endmembers take long for the number of pixels alone, which a user expects.
_MANY_ENDMEMBERS = 30
_LONG = 60.0  # seconds of mapping that are announced


def fit_mapping_in_time(
    request: UnmixRequest, selection: Selection, points: Points, client: Any
) -> UnmixRequest:
    """Return the request without standard errors if the time limit does not suffice for them.

    Without a limit, announce a pass over many endmembers that takes long.
    """
    is_limited = request.deadline.left is not None
    if not is_limited and request.r < _MANY_ENDMEMBERS:
        return request
    seconds = seconds_of_nnls(selection.U, points.values.T)
    if request.uncertainty:
        seconds += _seconds_of_errors(selection, points)
    # The points may be a sample of the pixels.
    n_pixels = request.scene.sizes["y"] * request.scene.sizes["x"]
    seconds *= n_pixels / len(points.values)
    if not is_limited:
        if seconds > _LONG and client is None:
            _announce(request, seconds)
        return request
    if not request.uncertainty or request.deadline.affords(seconds):
        return request
    request.deadline.give_up("standard errors of the abundances were not mapped")
    return replace(request, uncertainty=False)


def _seconds_of_errors(selection: Selection, points: Points) -> float:
    def work(columns: Array) -> None:
        shares(selection.U, columns, return_std=True, variability=selection.variability)

    return predicted_seconds(work, points.values.T)


def _announce(request: UnmixRequest, seconds: float) -> None:
    advice = ""
    if request.uncertainty:
        advice = "; without their standard errors (uncertainty=False) it is quicker"
    warnings.warn(
        f"mapping {request.r} endmembers takes about {in_words(seconds)} here{advice}",
        InputWarning,
        stacklevel=3,
    )
