"""What unmixing a scene gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from selfdict._validation import Array
from selfdict.model.solution import Solution
from selfdict.readout.guarantee import Guarantee
from selfdict.readout.proof import Proof
from selfdict.scene.check import SceneCheck
from selfdict.scene.identify import Identification


@dataclass(frozen=True)
class UnmixResult:
    """What :func:`unmix` found.

    Attributes
    ----------
    endmembers : xarray.DataArray (endmember, band)
        Spectra of the pure pixels or of their groups, physical values; ``endmember`` counts from 1;
        wavelengths as in the scene. Spectra of a library have a coordinate ``name (endmember)``.
    pixels : (r, 2) ndarray of int
        Row and column of each pure pixel, counted from 0; with a library, of the pixel that holds
        most of each spectrum.
    coordinates : (r, 2) ndarray of float or None
        Map coordinates x, y of the centres of these pixels (longitude, latitude in sensor
        geometry); None for a scene without georeference.
    crs : str or None
        The CRS of the coordinates as ``EPSG:…`` or WKT.
    abundances : xarray.DataArray (endmember, y, x)
        Nonnegative coefficient of each endmember, or its share (``parameters["abundances"]`` says
        which); NaN where there is no data.
    residual : xarray.DataArray (y, x)
        ‖m − U h‖ / ‖m‖ of each pixel; NaN where there is no data.
    valid : xarray.DataArray (y, x) of bool
        The pixels used.
    relative_error : float
        ‖M − U H‖_F / ‖M‖_F over all valid pixels (section 4.2 of the paper), as a fraction.
    solution : Solution or None
        The solution of model (6) that FGNSR chose from, with its certificate; None for the other
        methods.
    solution_pixels : (k, 2) ndarray of int or None
        Row and column of the pixel behind each column of ``solution`` (the candidates, or all
        pixels fitted); None with a library.
    guarantee : Guarantee or None
        What the theorems of the paper promise for the pixels fitted; None for the methods they are
        not about, and with a library.
    parameters : mapping
        Method and settings as they were used.
    seconds : mapping of str to float
        Time of the steps ``read``, ``select``, ``abundances``, and of all steps, ``total``.
    atoms : (r,) ndarray of int or None
        Which spectra of the library the endmembers are; None without a library.
    check : SceneCheck or None
        How far the solution can be from optimal for all pixels, if requested.
    groups : tuple of r (k, 2) ndarrays of int or None
        Row and column of the nearly pure pixels of each material among those fitted, the pure pixel
        first; None with a library, and for other methods than FGNSR.
    spread : xarray.DataArray (endmember, band) or None
        The standard deviation of the pixels averaged, if endmembers are averages.
    counts : (r,) ndarray of int or None
        How many pixels were averaged.
    proof : Proof or None
        What is proven about the groups, if requested.
    identification : Identification or None
        Which materials of a library the endmembers are, if names were asked for.
    notes : tuple of str
        What was left out of the scene or of a library.
    """

    endmembers: xr.DataArray
    pixels: Array
    coordinates: Array | None
    crs: str | None
    abundances: xr.DataArray
    residual: xr.DataArray
    valid: xr.DataArray
    relative_error: float
    solution: Solution | None
    solution_pixels: Array | None
    guarantee: Guarantee | None
    parameters: Mapping[str, Any]
    seconds: Mapping[str, float]
    atoms: Array | None = None
    check: SceneCheck | None = None
    groups: tuple[Array, ...] | None = None
    spread: xr.DataArray | None = None
    counts: Array | None = None
    proof: Proof | None = None
    identification: Identification | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_valid(self) -> int:
        """Number of pixels used."""
        return int(self.valid.sum())

    @property
    def labels(self) -> list[str]:
        """A name per endmember: ``Material 1``, or that of the library it comes from.

        If the endmember was identified, the material follows in brackets.
        """
        if "name" in self.endmembers.coords:
            return [str(name) for name in self.endmembers["name"].values]
        labels = [f"Material {k + 1}" for k in range(len(self.pixels))]
        if self.identification is not None:
            for k, match in enumerate(self.identification.matches):
                if match.material is not None:
                    labels[k] += f" ({match.material})"
        return labels

    @property
    def gap(self) -> float | None:
        """The certified relative gap of the solution, None without one."""
        if self.solution is None:
            return None
        return float(self.solution.gap)
