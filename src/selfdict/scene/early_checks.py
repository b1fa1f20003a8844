"""Faults of a request that need not wait until the scene has been read."""

from inspect import signature

from sklearn.utils._param_validation import InvalidParameterError

from selfdict._errors import InputError
from selfdict.estimators.settings import as_solver
from selfdict.files.errors import SceneError
from selfdict.scene.request import DEFAULT_SEED, METHODS, UnmixRequest
from selfdict.scene.selection import make_estimator


def check_before_reading(request: UnmixRequest) -> None:
    """Refuse options that the estimator would refuse, and a folder that exists already."""
    _check_keywords(request)
    estimator = make_estimator(request, request.candidates, DEFAULT_SEED)
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        raise InputError(str(error)) from error
    if request.method == "fgnsr":
        as_solver(estimator.solver, estimator.loss, estimator.tol, estimator.max_seconds)
    if request.folder is not None and request.folder.exists():
        raise SceneError(request.folder, "exists already: choose another folder")


def _check_keywords(request: UnmixRequest) -> None:
    """Refuse options that are no parameters of the estimator."""
    estimator = METHODS[request.method]
    # The number of components is r.
    known = signature(estimator).parameters.keys() - {"n_components"}
    unknown = sorted(request.options.keys() - known)
    if unknown:
        raise InputError(
            f"unmix has no parameter {', '.join(unknown)}, nor has {estimator.__name__}, which "
            f"takes {', '.join(sorted(known))}"
        )
