"""Whether the model describes a scene, and which places of it are not explained."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from selfdict._display import percent
from selfdict._validation import Array
from selfdict.abundances import column_residuals, nnls
from selfdict.scene.inspection import Preflight
from selfdict.scene.maps import Maps, outlier_limit

_MUCH = 0.1  # a relative error that is no small one
_LEAST_RESIDUAL = 1e-4  # beside a typical pixel: less is rounding
_MOST_PATCHES = 30  # that are listed
_WITH_SPECTRUM = 12  # patches whose gain is computed: those with the largest errors


@dataclass(frozen=True)
class Fit:
    """How well mixtures of the endmembers describe a scene, and what may be wrong with it.

    Attributes
    ----------
    error : float
        The relative error, as ``UnmixResult.relative_error``.
    noise : float or None
        The relative error that the noise of the sound bands would leave, see
        :class:`selfdict.scene.Preflight`; None if it is not known.
    n_materials : int
        Number of endmembers.
    faults : tuple of str
        What seems wrong with the data, one sentence each.
    left_out : tuple of str
        Which bands are left out as noise, one sentence each.
    """

    error: float
    noise: float | None
    n_materials: int
    faults: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, maps: Maps, n_materials: int, look: Preflight) -> "Fit":
        """Judge the maps by what was seen in the scene before."""
        faults = tuple(finding.sentence for finding in look.findings if finding.is_fault)
        noise = [finding for finding in look.findings if finding.kind == "noisy bands"]
        left_out = tuple(finding.sentence for finding in noise)
        return cls(maps.relative_error, look.noise_error, n_materials, faults, left_out)

    @property
    def is_poor(self) -> bool:
        """Whether more than a tenth of the scene is left, and noise is not the reason."""
        is_noise = self.noise is not None and self.error <= 2 * self.noise
        return self.error > _MUCH and not is_noise

    @property
    def is_sound(self) -> bool:
        """Whether the model describes the scene, and nothing seems wrong with the data."""
        return self.error <= _MUCH and not self.faults

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        if self.is_poor:
            return "The model does not describe this scene."
        if self.faults:
            return "The data look wrong: check them before you trust the maps."
        if self.error > _MUCH:
            return "The model describes this scene, but there is much noise in it."
        return "The model describes this scene."

    @property
    def sentences(self) -> list[str]:
        """What the verdict rests on, then the likely causes of a poor fit or doubtful data."""
        error = f"Mixtures of {self.n_materials} spectra leave {percent(self.error)} of the scene"
        if self.n_materials == 1:
            error = f"One spectrum leaves {percent(self.error)} of the scene"
        noise = "noise"
        if self.faults:
            # Bands that are marked as noisy do not count, even if they are used.
            noise = "the noise of the sound bands"
        if self.noise is not None:
            error += f"; {noise} would leave {percent(self.noise)}"
        found = [f"{error}."]
        found += [f"{said[0].upper()}{said[1:]}." for said in (*self.left_out, *self.faults)]
        if self.is_poor and not self.faults:
            found.append(
                f"Likely causes: too few materials ({self.n_materials}), faulty bands, undeclared "
                "no-data values, exchanged axes, or values that are neither reflectance nor "
                "radiance."
            )
        return found


@dataclass(frozen=True)
class Patch:
    """Connected pixels that the endmembers do not explain.

    Attributes
    ----------
    pixels : (k, 2) ndarray of int
        Row and column of its pixels, the largest residual first.
    share : float
        The part of the squared error of the whole scene that lies in it.
    spectrum : (n_bands,) ndarray or None
        The mean of the pixels with the larger residuals, at the used bands; None for patches
        beyond the first twelve.
    error : float or None
        With this spectrum as a further endmember the relative error of the scene is at most this.
    """

    pixels: Array
    share: float
    spectrum: Array | None = None
    error: float | None = None


def unexplained_patches(maps: Maps, U: Array) -> tuple[Patch, ...]:
    """Return the patches that endmembers U (m, r) do not explain, the largest errors first."""
    patches = _find_patches(maps)
    if not patches:
        return ()
    outliers = maps.outliers
    before = _squared_errors(U, outliers.M)
    found = []
    for k, patch in enumerate(patches):
        rows, columns = patch.pixels.T
        own = np.flatnonzero(np.isin(outliers.pixels, rows * maps.errors.shape[1] + columns))
        if own.size == 0 or k >= _WITH_SPECTRUM:
            found.append(patch)
            continue
        is_large = before[own] >= np.median(before[own])
        spectrum = outliers.M[:, own[is_large]].mean(axis=1)
        after = _squared_errors(np.column_stack([U, spectrum]), outliers.M)
        gain = float(np.maximum(before - after, 0.0).sum())
        error = maps.totals.relative(max(maps.totals.squared_error - gain, 0.0))
        found.append(replace(patch, spectrum=spectrum, error=error))
    return tuple(found)


def _find_patches(maps: Maps) -> list[Patch]:
    errors = maps.errors
    known = errors[np.isfinite(errors)]
    if known.size == 0 or maps.totals.squared_error == 0:
        return []
    length = np.sqrt(maps.totals.squared_norm / known.size)
    limit = max(outlier_limit(known), _LEAST_RESIDUAL * length)
    # NaN, where there is no data, is not larger than anything.
    labels, n_patches = ndimage.label(errors > limit, structure=np.ones((3, 3)))
    squares = np.where(labels > 0, errors, 0.0).astype(np.float64) ** 2
    weights = ndimage.sum_labels(squares, labels, np.arange(1, n_patches + 1))
    found = []
    boxes = ndimage.find_objects(labels)
    for number in np.argsort(-weights, kind="stable").tolist():
        rows, columns = boxes[number]
        corner = np.array([rows.start, columns.start])
        inside = np.argwhere(labels[rows, columns] == number + 1) + corner
        # a single pixel is damaged, or one of the many that are there by chance
        if len(inside) == 1:
            continue
        order = np.argsort(-errors[tuple(inside.T)], kind="stable")
        found.append(Patch(inside[order], float(weights[number] / maps.totals.squared_error)))
        if len(found) == _MOST_PATCHES:
            break
    return found


def _squared_errors(U: Array, M: Array) -> Array:
    return np.asarray(column_residuals(U, M, nnls(U, M)) ** 2)
