"""What unmixing a scene gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.abundances import Illumination
from selfdict.model.solution import Solution
from selfdict.readout import RankAdvice
from selfdict.readout.groups import reasons
from selfdict.readout.proof import Proof
from selfdict.scene.choose import SceneCheck
from selfdict.scene.facts import Fit, Patch, facts
from selfdict.scene.identification import Identification
from selfdict.scene.inspection import Preflight
from selfdict.scene.metadata import without_notes


@dataclass(frozen=True)
class Comparison:
    """What another method found in the same scene.

    Attributes
    ----------
    method : str
        Its name, such as ``"SPA"`` or ``"FGNSR-500"``.
    error : float
        The relative error with its pure pixels as endmembers and nonnegative coefficients, as
        ``UnmixResult.pixel_error``.
    seconds : float
        How long it took to choose them.
    pixels : (r, 2) ndarray of int
        Row and column of its pure pixels, counted from 0.
    """

    method: str
    error: float
    seconds: float
    pixels: Array


@dataclass(frozen=True)
class UnmixResult:
    """What :func:`unmix` found; see :doc:`/answer`.

    Positions are rows and columns, counted from 0. Maps are NaN where there is no data.

    Attributes
    ----------
    endmembers : xarray.DataArray (endmember, band)
        Averages over the groups or the pure pixels themselves (``parameters["endmembers"]`` says
        which), physical values; ``endmember`` counts from 1; wavelengths as in the scene. Spectra
        of a library have a coordinate ``name (endmember)``.
    pixels : (r, 2) ndarray of int
        The pure pixels; with a library, the pixels that hold most of each spectrum.
    coordinates : (r, 2) ndarray of float or None
        Map coordinates x, y of the centres of these pixels (longitude, latitude in sensor
        geometry); None for a scene without georeference.
    crs : str or None
        The CRS of the coordinates as ``EPSG:…`` or WKT.
    abundances : xarray.DataArray (endmember, y, x)
        The part of each pixel's area that each endmember covers, or its coefficient
        (``parameters["abundances"]`` says which).
    residual : xarray.DataArray (y, x)
        ‖m − U h‖ / ‖m‖ of each pixel for its coefficients h.
    relative_error : float
        ‖M − U H‖_F / ‖M‖_F over all valid pixels as they are in the file, for the endmembers U and
        the same H as in ``residual``; a fraction.
    solution : Solution or None
        The solution of model (6) that FGNSR chose from, with its certificate.
    solution_pixels : (k, 2) ndarray of int or None
        The pixel behind each column of ``solution`` (the candidates, or all pixels fitted); None
        with a library.
    parameters : mapping
        Method and settings as they were used.
    seconds : mapping of str to float
        Time of the steps ``preflight``, ``read``, ``rank``, ``select``, ``prove``, ``compare``,
        ``abundances``, and of all, ``total``.
    preflight : Preflight
        What was assumed about the scene, which bands were left out, and what seems wrong with it.
    fit : Fit
        Whether the model describes the scene, and what seems wrong with the data.
    scene : xarray.DataArray (band, y, x)
        The scene that was unmixed, as it is held in memory or read from its file.
    atoms : (r,) ndarray of int or None
        Which spectra of the library the endmembers are, counted without those that ``notes`` says
        are left out.
    check : SceneCheck or None
        The bound over all pixels of a scene that was solved block by block.
    groups : tuple of r (k, 2) ndarrays of int or None
        The nearly pure pixels of each material among those fitted, the pure pixel first; None with
        a library, and for other methods than FGNSR.
    group_weights : (r,) ndarray or None
        The weight of each group: the sum over its candidates on the diagonal of ``solution``, or
        the weight of the candidate nearest to its pure pixel.
    spread : xarray.DataArray (endmember, band) or None
        How the pixels of each group vary in each band, if endmembers are averages.
    counts : (r,) ndarray of int or None
        How many pixels were averaged.
    alike : tuple of tuples of int
        Endmembers, counted from 0, that differ by less than the pixels of their groups do: they may
        be one material, and :meth:`added_up` adds their maps.
    proof : Proof or None
        What is proven about the groups, if requested.
    identification : Identification or None
        Which materials of a library the endmembers are, if names were asked for.
    notes : tuple of str
        What was left out of the scene or of a library, and which endmembers may be one material.
    uncertainty : xarray.DataArray (endmember, y, x) or None
        The standard error of each abundance, if requested; NaN where the residual does not tell the
        noise.
    brightness, illumination : xarray.DataArray (y, x) and Illumination, or None
        With ``"shares"``: how bright each pixel is beside endmembers at their typical brightness (1
        is typical, less is shade), and these endmembers with the variation of brightness.
    pixel_error : float or None
        The relative error with the pure pixels as endmembers and nonnegative coefficients (section
        4.2 of the paper), which can be compared between methods; None with a library.
    rank_advice : RankAdvice or None
        Why this number of endmembers was taken, if it was not given.
    skipped : tuple of str
        What was left out because of a time limit.
    comparison : tuple of Comparison
        What the methods to compare with found, if there are any.
    unexplained : tuple of Patch
        Connected pixels whose residuals stand out from the noise, the largest errors first: other
        materials, shade, clouds or faulty pixels.
    """

    endmembers: xr.DataArray
    pixels: Array
    coordinates: Array | None
    crs: str | None
    abundances: xr.DataArray
    residual: xr.DataArray
    relative_error: float
    solution: Solution | None
    solution_pixels: Array | None
    parameters: Mapping[str, Any]
    seconds: Mapping[str, float]
    preflight: Preflight
    fit: Fit
    scene: xr.DataArray
    atoms: Array | None = None
    check: SceneCheck | None = None
    groups: tuple[Array, ...] | None = None
    group_weights: Array | None = None
    spread: xr.DataArray | None = None
    counts: Array | None = None
    alike: tuple[tuple[int, ...], ...] = ()
    proof: Proof | None = None
    identification: Identification | None = None
    notes: tuple[str, ...] = ()
    uncertainty: xr.DataArray | None = None
    brightness: xr.DataArray | None = None
    illumination: Illumination | None = None
    pixel_error: float | None = None
    rank_advice: RankAdvice | None = None
    skipped: tuple[str, ...] = ()
    comparison: tuple[Comparison, ...] = ()
    unexplained: tuple[Patch, ...] = ()

    def __repr__(self) -> str:
        described = facts(self)
        width = max(len(fact.name) for fact in described)
        lines = [f"UnmixResult: {len(self.pixels)} materials"]
        lines += [f"  {fact.name:<{width}}  {fact.sentence}" for fact in described]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # The report draws results; it is imported on first use, since it comes after this package.
        from selfdict.report.plots import notebook_view

        return notebook_view(self)

    def plot(self, figure: Any = None) -> Any:
        """Draw the spectra, a map per endmember, and the residual with matplotlib.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            An empty figure to draw into. By default a new one of pyplot.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it, elsewhere ``plt.show()`` does; ``figure.savefig("result.png")``
            writes it, and ``plt.close(figure)`` frees its memory.
        """
        from selfdict.report.plots import plot_result

        return plot_result(self, figure)

    def explore(self) -> Any:
        """Show the report in a notebook: maps that answer a click, spectra, what is proven.

        Returns
        -------
        Page
            A notebook shows it; ``str(page)`` is the HTML, one file that works offline.
        """
        from selfdict.report.page import Page

        return Page(self)

    def to_dataset(self) -> xr.Dataset:
        """Return maps and spectra as one Dataset, for any format that xarray writes.

        Returns
        -------
        xarray.Dataset
            ``abundance (endmember, y, x)``, ``residual (y, x)``, ``valid (y, x)``,
            ``spectrum (endmember, band)``, and ``brightness``, ``uncertainty`` and ``spread`` if
            there are any. Attributes are what the text of a result says.
        """
        variables: dict[str, Any] = {
            "abundance": self.abundances,
            "residual": self.residual,
            "valid": self.valid,
            "spectrum": self.endmembers,
        }
        for name in ("uncertainty", "brightness", "spread"):
            if getattr(self, name) is not None:
                variables[name] = getattr(self, name)
        dataset = xr.Dataset({name: without_notes(array) for name, array in variables.items()})
        dataset = dataset.assign_coords(
            label=("endmember", self.labels),
            pixel_row=("endmember", self.pixels[:, 0]),
            pixel_column=("endmember", self.pixels[:, 1]),
        )
        attributes: dict[str, Any] = {}
        for fact in facts(self):
            attributes[fact.key] = fact.sentence
            if fact.value is not None:
                attributes[fact.key] = fact.value
        return dataset.assign_attrs(attributes)

    def added_up(self) -> xr.DataArray:
        """Return the abundances with those of alike endmembers added up.

        Returns
        -------
        xarray.DataArray (endmember, y, x)
            One map for each set in ``alike``, labelled by its endmember with the largest total,
            and those of all other endmembers. Standard errors do not add up.
        """
        maps = self.abundances.copy()
        totals = self.abundances.sum(("y", "x")).values
        is_left = np.ones(len(totals), dtype=bool)
        for alike in self.alike:
            members = list(alike)
            largest = max(members, key=lambda k: totals[k])
            maps[largest] = self.abundances[members].sum("endmember", skipna=False)
            is_left[members] = False
            is_left[largest] = True
        return maps.isel(endmember=np.flatnonzero(is_left))

    @property
    def indices(self) -> Array:
        """The positions of ``pixels`` in the scene, counted row by row from 0, (r,)."""
        rows, columns = self.pixels.T
        return np.asarray(rows * self.residual.sizes["x"] + columns)

    @property
    def valid(self) -> xr.DataArray:
        """The pixels used, which are those with a residual, (y, x) of bool."""
        return self.residual.notnull().drop_attrs().rename("valid")

    @property
    def n_valid(self) -> int:
        """Number of pixels used; no map is read."""
        return int(self.parameters["n_valid"])

    @property
    def reasons(self) -> tuple[str, ...] | None:
        """What each endmember is, such as "average of 244 pixels"; None without averages."""
        if self.counts is None:
            return None
        return reasons(self.counts)

    @property
    def shows_single_pixels(self) -> bool:
        """Whether each endmember is a single pixel, although averages were asked for."""
        return self.counts is not None and bool((self.counts == 1).all())

    @property
    def labels(self) -> list[str]:
        """Names such as ``Material 1`` or ``Material 1 (clay)``, or those in the library."""
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
