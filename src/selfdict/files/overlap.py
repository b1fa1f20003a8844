"""Two detectors that see the same wavelengths: which of their bands are kept."""

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import Array


def check_overlap(overlap: str | None) -> str:
    """Return the option ``overlap``, "vnir" by default; anything unknown is refused."""
    if overlap is None:
        return "vnir"
    if overlap not in ("vnir", "swir", "both"):
        raise InputError(f"overlap must be 'vnir', 'swir' or 'both', got {overlap!r}")
    return overlap


def kept_bands(wavelength: Array, is_vnir: Array, overlap: str) -> tuple[Array, list[str]]:
    """Return which bands are kept, and a note if detectors overlap.

    Parameters
    ----------
    wavelength : (n_bands,) ndarray
        In nanometres.
    is_vnir : (n_bands,) ndarray of bool
        The bands of the detector for short wavelengths; the others belong to the SWIR detector.
    overlap : {"vnir", "swir", "both"}
        The detector whose bands are kept where both see the same wavelengths.

    Returns
    -------
    keep : (n_bands,) ndarray of bool
    notes : list of str

    Examples
    --------
    >>> import numpy as np
    >>> wavelength = np.array([500.0, 930.0, 950.0, 1000.0])
    >>> is_vnir = np.array([True, False, True, False])
    >>> keep, notes = kept_bands(wavelength, is_vnir, "vnir")
    >>> keep
    array([ True, False,  True,  True])
    >>> notes
    ['VNIR and SWIR overlap from 930 to 950 nm: VNIR is kept, 1 bands are left out (overlap)']
    """
    keep = np.ones(wavelength.size, dtype=bool)
    if is_vnir.all() or not is_vnir.any():
        return keep, []
    low = wavelength[~is_vnir].min()
    high = wavelength[is_vnir].max()
    if low > high:
        return keep, []
    span = f"VNIR and SWIR overlap from {low:.0f} to {high:.0f} nm"
    if overlap == "both":
        return keep, [f"{span}: the bands of both are kept, by wavelength (overlap)"]
    is_inside = (wavelength >= low) & (wavelength <= high)
    is_dropped = is_inside & is_vnir
    if overlap == "vnir":
        is_dropped = is_inside & ~is_vnir
    n_dropped = int(is_dropped.sum())
    note = f"{span}: {overlap.upper()} is kept, {n_dropped} bands are left out (overlap)"
    return ~is_dropped, [note]
