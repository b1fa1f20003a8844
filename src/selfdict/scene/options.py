"""The settings of an unmixing: one object for Python, the command and ``run.json``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from inspect import signature
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import InvalidParameterError

from selfdict._errors import InputError
from selfdict._validation import Array, as_count, as_generator, as_scalar
from selfdict.estimators import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.estimators.settings import as_solver
from selfdict.files.errors import SceneError
from selfdict.model.losses import Loss, Squared, as_loss
from selfdict.reductions import Candidates
from selfdict.reductions.recipe import N_CLUSTERS

MOST_MATERIALS = 20  # that are recommended, unless another number is given
# of ``random_state=None``: the same scene gives the same result in every process
DEFAULT_SEED = 0
ABUNDANCES = ("shares", "unit", "nnls", "fcls")
ENDMEMBERS = ("auto", "pixels", "average")
METHODS: dict[str, Any] = {
    "fgnsr": FGNSR,
    "spa": SPA,
    "snpa": SNPA,
    "xray": XRAY,
    "vca": VCA,
    "h2nmf": H2NMF,
}
# Settings that are no plain values, or that other methods than FGNSR do not have.
_NOT_RECORDED = ("library", "names", "mask", "maps", "estimator", "verbose", "random_state")
_OF_FGNSR = ("candidates", "mu", "check", "prove", "max_seconds")


@dataclass(frozen=True, eq=False, kw_only=True)
class UnmixOptions:
    """All settings of an unmixing, checked when they are made; :func:`unmix` describes them.

    Messages name a setting as Python does, ``name`` or ``name=value``; the command translates.
    """

    r: int | str
    method: str = "fgnsr"
    candidates: int | str | None = "auto"
    mu: float | str = "auto"
    library: xr.DataArray | None = None
    names: xr.DataArray | None = None
    endmembers: str = "auto"
    abundances: str = "shares"
    mask: ArrayLike | None = None
    keep_bands: bool = False
    drop_bad_bands: bool | None = None
    max_pixels: int | None = None
    check: bool = False
    uncertainty: bool = True
    prove: bool | str = False
    compare: tuple[str, ...] = ()
    maps: str | PathLike[str] | None = None
    max_seconds: float | None = None
    random_state: Any = None
    verbose: bool | None = None
    estimator: Mapping[str, Any] = field(default_factory=dict)  # its further parameters

    def __post_init__(self) -> None:
        _check_choice("method", self.method, METHODS)
        _check_choice("abundances", self.abundances, ABUNDANCES)
        _check_choice("endmembers", self.endmembers, ENDMEMBERS)
        for name in self.compare:
            parse_method(name)
        self._check_numbers()
        self._check_what_needs_fgnsr()
        self._check_library()
        self._check_estimator()
        if self.folder is not None and self.folder.exists():
            raise SceneError(self.folder, "exists already: choose another folder")

    def _check_numbers(self) -> None:
        if self.r != "auto":
            as_count(self.r, "r")
        if self.max_pixels is not None:
            as_count(self.max_pixels, "max_pixels")
        if self.max_seconds is not None:
            as_scalar(self.max_seconds, "max_seconds")
        is_count = isinstance(self.candidates, Integral) and self.candidates >= 1
        if self.candidates not in (None, "auto") and not is_count:
            raise InputError(
                "candidates must be 'auto', None or a positive whole number; "
                f"got {self.candidates!r}"
            )
        if self.prove not in (True, False, "auto"):
            raise InputError(f"prove must be True, False or 'auto'; got {self.prove!r}")

    def _check_what_needs_fgnsr(self) -> None:
        if self.method == "fgnsr":
            return
        given = {
            f"max_seconds={self.max_seconds}": self.max_seconds is not None,
            "library=…": self.library is not None,
            "check=True": self.check,
            "prove=True": self.prove is True,
            "endmembers='average'": self.endmembers == "average",
        }
        for setting, is_given in given.items():
            if is_given:
                raise InputError(f"{setting} needs method='fgnsr'; got method={self.method!r}")

    def _check_library(self) -> None:
        if self.library is None:
            if self.check and (self.candidates is None or not self.has_squared_loss):
                raise InputError("check=True needs candidates or a library, and the loss 'squared'")
            return
        if self.endmembers == "average":
            raise InputError("averages are of pixels: they do not go with library=…")
        if self.compare:
            raise InputError("compare is about pure pixels: it does not go with library=…")
        if self.check and not self.has_squared_loss:
            raise InputError("check=True needs the loss 'squared'")

    def _check_estimator(self) -> None:
        """Refuse parameters that the estimator would refuse, once the scene had been read."""
        if "dictionary" in self.estimator:
            # FGNSR would return indices of its columns, which are no pixels.
            raise InputError(
                "unmix takes no dictionary: pass spectra as library=…, see build_library"
            )
        estimator = METHODS[self.method]
        # The number of components is r.
        known = signature(estimator).parameters.keys() - {"n_components"}
        unknown = sorted(self.estimator.keys() - known)
        if unknown:
            raise InputError(
                f"unmix has no parameter {', '.join(unknown)}, nor has {estimator.__name__}, which "
                f"takes {', '.join(sorted(known))}"
            )
        model = self.new_estimator(1)
        try:
            model._validate_params()
        except InvalidParameterError as error:
            raise InputError(str(error)) from error
        if self.method == "fgnsr":
            as_solver(model.solver, model.loss, model.tol, self.max_seconds)

    @property
    def is_fgnsr(self) -> bool:
        """Whether the method is the model of the paper."""
        return self.method == "fgnsr"

    @property
    def loss(self) -> Loss:
        """The loss of the model."""
        return as_loss(self.estimator.get("loss"))

    @property
    def has_squared_loss(self) -> bool:
        """Whether the loss is the squared error."""
        return isinstance(self.loss, Squared)

    @property
    def endmember_kind(self) -> str:
        """What the endmembers are, "pixels" or "average": averages where there are groups."""
        if self.endmembers != "auto":
            return self.endmembers
        if self.is_fgnsr and self.library is None:
            return "average"
        return "pixels"

    @property
    def proof(self) -> bool | str:
        """Whether to prove; "auto" only where a proof is possible."""
        # Proofs are about the gates of model (6), with a loss that has a quadratic dual.
        if self.prove == "auto" and not (self.is_fgnsr and self.loss.quadratic):
            return False
        return self.prove

    @property
    def n_clusters(self) -> int | str | None:
        """The candidates; with all pixels as candidates there is nothing to check."""
        if self.check and self.candidates == "auto":
            return N_CLUSTERS
        return self.candidates

    @property
    def folder(self) -> Path | None:
        """Where the maps are written; absolute, since workers may be in another folder."""
        if self.maps is None:
            return None
        return Path(self.maps).absolute()

    @property
    def seed(self) -> int | None:
        """``random_state`` if it is a number, for the record."""
        if self.random_state is None:
            return DEFAULT_SEED
        # NumPy's integers are no int.
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return None

    def generator(self) -> np.random.Generator:
        """Return the generator that the random state stands for."""
        if self.random_state is None:
            return np.random.default_rng(DEFAULT_SEED)
        return as_generator(self.random_state)

    def new_estimator(
        self,
        r: int,
        *,
        candidates: int | None = None,
        dictionary: Array | None = None,
        max_seconds: float | None = None,
        seed: int = DEFAULT_SEED,
    ) -> Any:
        """Return the estimator of these settings, not fitted yet."""
        if not self.is_fgnsr:
            return METHODS[self.method](r, random_state=seed, **self.estimator)
        reduction: int | Candidates | None = candidates
        if candidates is not None and self.check:
            # The check bounds the model in which cluster sizes weigh the residuals; gates solved
            # with sizes that scale the points instead would belong to another model.
            reduction = Candidates(candidates, weighting="residual")
        return FGNSR(
            r,
            max_seconds=max_seconds,
            candidates=reduction,
            mu=self.mu,
            dictionary=dictionary,
            endmembers=self.endmember_kind,
            random_state=seed,
            verbose=bool(self.verbose),
            **self.estimator,
        )

    def record(self) -> dict[str, Any]:
        """Return the settings that are plain values, by name; callables are left out."""
        skipped: tuple[str, ...] = _NOT_RECORDED
        if not self.is_fgnsr:
            skipped += _OF_FGNSR
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        settings = {name: value for name, value in values.items() if name not in skipped}
        # A callback is no setting, and could not be written to a file.
        further = {name: value for name, value in self.estimator.items() if not callable(value)}
        return settings | further | {"random_state": self.seed}


def parse_method(name: str) -> tuple[str, int | None]:
    """Return the method and the number of candidates of a name such as ``fgnsr-500`` or ``spa``.

    Examples
    --------
    >>> parse_method("fgnsr-500"), parse_method("spa")
    (('fgnsr', 500), ('spa', None))
    """
    method, _, number = name.partition("-")
    _check_choice("compare", method, METHODS)
    if not number:
        return method, None
    if method != "fgnsr" or not number.isdecimal() or int(number) < 1:
        raise InputError(f"compare must be names such as 'spa' or 'fgnsr-500'; got {name!r}")
    return method, int(number)


def method_name(method: str, candidates: int | None) -> str:
    """Return a name like the paper's: FGNSR-500 selects from 500 candidates."""
    if candidates is None:
        return method.upper()
    return f"{method.upper()}-{candidates}"


def _check_choice(name: str, value: Any, choices: Any) -> None:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
