"""The settings of an unmixing: one object for Python, the command and ``run.json``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError, SceneError
from selfdict._validation import Array, as_count, as_generator, as_scalar
from selfdict.methods import METHODS, FGNSRMethod
from selfdict.methods.fgnsr import as_solver
from selfdict.model.losses import Loss, Squared, as_loss

MOST_MATERIALS = 20  # that are recommended, unless another number is given
# of ``random_state=None``: the same scene gives the same result in every process
DEFAULT_SEED = 0
# Settings that are no plain values, or that other methods than FGNSR do not have.
_NOT_RECORDED = ("library", "names", "mask", "maps", "estimator", "verbose", "random_state")
_OF_FGNSR = ("candidates", "mu", "smooth", "prove", "max_seconds")


@dataclass(frozen=True, eq=False, kw_only=True)
class UnmixOptions:
    """All settings of an unmixing, checked when they are made.

    Messages name a setting as Python does, ``name`` or ``name=value``; the command translates.

    Parameters
    ----------
    r : int or "auto"
        Number of endmembers. "auto" takes the number that :func:`advise_rank` recommends.
    method : {"fgnsr", "spa", "snpa", "xray", "vca", "h2nmf"}
        How pure pixels are chosen.
    candidates : "auto", int or None
        For ``"fgnsr"``: the number of H2NMF clusters whose representatives are the dictionary;
        None: all pixels. "auto": all pixels if that is predicted to take at most a minute, or 0.4
        of a time limit, else 500 representatives; with a library or another loss always 500.
        ``result.parameters["candidates_reason"]`` says why.
    mu : float or "auto"
        For ``"fgnsr"``: the penalty μ of model (6).
    smooth : float
        For ``"fgnsr"``: the weight of the squares in the penalty, in units of μ; see
        :doc:`/smooth`.
    library : xarray.DataArray (spectrum, band), optional
        For ``"fgnsr"``: find r spectra of this library instead of pure pixels; see
        :func:`read_library`. It must hold the same quantity as the scene, in the same unit.
    names : xarray.DataArray (spectrum, band), optional
        Identify the endmembers with materials of this library, see :func:`identify`.
    endmembers : {"auto", "pixels", "average"}
        Whether the endmembers are the pure pixels themselves, or averages over groups of similar
        pixels, which carry less noise: see :func:`selfdict.pure_groups`. "auto" is "average" for
        ``"fgnsr"`` without a library. The other methods have pixels only.
    abundances : {"shares", "unit", "nnls", "fcls"}
        What the maps show. "shares": the part of each pixel's area that each material covers, see
        :func:`selfdict.shares`; the brightness of pixels is a map of its own. "unit": shares
        relative to spectra of unit length, as in many published tables. "nnls": coefficients of
        nonnegative least squares. "fcls": the same with coefficients that sum to one.
    mask : (n_rows, n_columns) array-like of bool, optional
        True for pixels to leave out.
    keep_bands : bool
        Use all bands. By default :func:`preflight` leaves out those that hold one value in all
        pixels, and those that the scene marks as bad.
    max_pixels : int, optional
        About the most pixels the method chooses from. By default all where all are candidates,
        else as many as fill 128 MiB.
    uncertainty : bool
        Map the standard error of each abundance, too: see :doc:`/answer`.
    prove : bool or "auto"
        For ``"fgnsr"``: prove how close the groups of nearly pure pixels alone come to the optimum,
        and what leaving one out costs; see :func:`selfdict.prove_groups`. "auto" gives the proof
        two thirds of the time of the fit, and at least five seconds, where a proof is possible.
    compare : sequence of str
        Methods to compare with, such as ``"spa"`` or ``"fgnsr-500"``. The errors of their pure
        pixels are measured in the same passes, without maps: see ``UnmixResult.comparison``.
    maps : str or path-like, optional
        A new folder to write the maps to, block by block, as zarr stores that the result reads
        lazily. By default they are held in memory.
    max_seconds : float, optional
        For ``"fgnsr"``: the time limit of all that chooses and proves; ``UnmixResult.skipped`` says
        what was left out. The scene is always read, and the abundances are always mapped.
    random_state : None, int or numpy.random.Generator
        The same seed gives the same result; None is the seed 0.
    verbose : bool, optional
        Print every step and the solver's progress. By default one line on stderr says what is
        being done, after ten seconds, unless there is a ``progress`` callback. False: nothing.
    estimator : mapping
        Further parameters of the estimator (``solver``, ``postprocess``, ``callback``, …).
    """

    r: int | str
    method: str = "fgnsr"
    candidates: int | str | None = "auto"
    mu: float | str = "auto"
    smooth: float = 0.0
    library: xr.DataArray | None = None
    names: xr.DataArray | None = None
    endmembers: str = "auto"
    abundances: str = "shares"
    mask: ArrayLike | None = None
    keep_bands: bool = False
    max_pixels: int | None = None
    uncertainty: bool = True
    prove: bool | str = False
    compare: Sequence[str] = ()
    maps: str | PathLike[str] | None = None
    max_seconds: float | None = None
    random_state: Any = None
    verbose: bool | None = None
    estimator: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, r: int | str, **settings: Any) -> "UnmixOptions":
        """Return the options; settings that are none of them are parameters of the estimator."""
        names = {each.name for each in fields(cls)} - {"estimator"}
        own = {name: value for name, value in settings.items() if name in names}
        further = {name: value for name, value in settings.items() if name not in names}
        return cls(r=r, **own, estimator=further)

    def __post_init__(self) -> None:
        _check_choice("method", self.method, METHODS)
        _check_choice("abundances", self.abundances, ("shares", "unit", "nnls", "fcls"))
        _check_choice("endmembers", self.endmembers, ("auto", "pixels", "average"))
        if not isinstance(self.compare, tuple | list):
            raise TypeError(f"compare must be a list of names, got {self.compare!r}")
        for name in self.compare:
            parse_method(name)
        for name in ("library", "names"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, xr.DataArray):
                raise TypeError(
                    f"{name} must be a library from read_library or build_library, "
                    f"got {type(given).__name__}"
                )
        self._check_numbers()
        self._check_combinations()
        self._check_estimator()
        if self.folder is not None and self.folder.exists():
            raise SceneError(self.folder, "exists already: choose another folder")

    def _check_numbers(self) -> None:
        if isinstance(self.r, str) and self.r != "auto":
            raise InputError(f"r must be 'auto' or a whole number; got {self.r!r}")
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
        as_scalar(self.smooth, "smooth")
        is_penalty = isinstance(self.mu, Real) and 0 <= self.mu < math.inf
        if self.mu != "auto" and not is_penalty:
            raise InputError(f"mu must be 'auto' or a number that is not negative; got {self.mu!r}")
        if self.prove not in (True, False, "auto"):
            raise InputError(f"prove must be True, False or 'auto'; got {self.prove!r}")

    def _check_combinations(self) -> None:
        is_average = self.endmembers == "average"
        of_fgnsr = {
            f"candidates={self.candidates}": self.candidates != "auto",
            f"mu={self.mu}": self.mu != "auto",
            f"max_seconds={self.max_seconds}": self.max_seconds is not None,
            "library=…": self.library is not None,
            f"smooth={self.smooth}": self.smooth > 0,
            "prove=True": self.prove is True,
            "endmembers='average'": is_average,
        }
        for setting, is_given in of_fgnsr.items():
            if is_given and not self.is_fgnsr:
                raise InputError(f"{setting} needs method='fgnsr'; got method={self.method!r}")
        if self.library is not None and is_average:
            raise InputError("endmembers='average' cannot be combined with library=…")
        if self.library is not None and self.compare:
            raise InputError("compare=… cannot be combined with library=…")

    def _check_estimator(self) -> None:
        """Refuse parameters that the estimator would refuse, once the scene had been read."""
        if "dictionary" in self.estimator:
            # FGNSR would return indices of its columns, which are no pixels.
            raise InputError(
                "unmix takes no dictionary: pass spectra as library=…, see build_library"
            )
        method = METHODS[self.method]
        # The number of components is r.
        known = signature(method).parameters.keys() - {"n_components"}
        unknown = sorted(self.estimator.keys() - known)
        if unknown:
            raise InputError(
                f"unmix has no parameter {', '.join(unknown)}, nor has {self.method.upper()}, "
                f"which takes {', '.join(sorted(known))}"
            )
        # All others are checked already.
        if self.estimator.keys() - {"callback"}:
            _validate(self.method, self.estimator)
        if self.is_fgnsr:
            model = self.new_estimator(1)
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
        return FGNSRMethod(
            r,
            max_seconds=max_seconds,
            candidates=candidates,
            mu=self.mu,
            smooth=self.smooth,
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


def _validate(method: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that the estimator of scikit-learn refuses."""
    # Imported here: scikit-learn takes half a second.
    from sklearn.utils._param_validation import InvalidParameterError

    from selfdict import estimators

    try:
        getattr(estimators, method.upper())(1, **parameters)._validate_params()
    except InvalidParameterError as error:
        raise InputError(str(error)) from error


def parse_method(name: str) -> tuple[str, int | None]:
    """Return the method and the number of candidates of a name such as ``fgnsr-500`` or ``spa``."""
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
