"""What the page knows of every pixel: its shares, their errors, and its spectrum, in a few bytes.

The spectrum m of a pixel is stored as its fit, s Σ a_k u_k, and the part of its residual that lies
in the eight leading directions of all residuals. Every number takes one byte.
"""

import base64
import math
import zlib
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.report.pictures import Maps
from selfdict.scene.blocks import block_matrix
from selfdict.scene.metadata import band_numbers
from selfdict.scene.result import UnmixResult

# Residuals that the directions are found from, and pixels that are fitted at a time: the fits of
# all pixels are as large as the scene.
_N_PIXELS = 4000


def packed_pixels(
    result: UnmixResult, scene: xr.DataArray, maps: Maps, most_bytes: int
) -> dict[str, Any]:
    """Return what the page says about a pixel, of as many pixels as fit into ``most_bytes``."""
    height, width = maps.image(maps.valid).shape
    # Shares, errors, eight directions and three more numbers, each a byte that takes about 0.9
    # characters when it is compressed.
    n_characters = 0.9 * (2 * len(result.pixels) + 11) * height * width
    every = max(1, round(math.sqrt(n_characters / most_bytes)))
    packed = _packed(result, scene, maps, every)
    while len(packed["bytes"]) > most_bytes:
        every += 1
        packed = _packed(result, scene, maps, every)
    return packed | {
        "scale": maps.image_scale,
        "height": height,
        "width": width,
        "pure": result.pixels.tolist(),
    }


def _packed(result: UnmixResult, scene: xr.DataArray, maps: Maps, every: int) -> dict[str, Any]:
    """Return every n-th row and column of the images as JSON takes it.

    Spectra of pixels are known if the scene is held in memory.
    """
    kept = slice(None, None, every)
    names = {"shares": "abundances", "errors": "uncertainty"}
    names |= {"residual": "residual", "brightness": "brightness"}
    layers = {}
    for stored_as, name in names.items():
        if maps.of(name) is not None:
            picture = maps.image(maps.of(name))[..., kept, kept]
            # (k, y, x), also of a map with one layer
            layers[stored_as] = picture.reshape(-1, *picture.shape[-2:])
    abundances = layers["shares"]
    spectra = _reference_spectra(result)
    directions = np.zeros((0, spectra.shape[1]))
    # Another pass over a file would take longer than the report.
    if scene.chunks is None:
        scale, residuals, directions = _spectra_of_pixels(
            result, scene, abundances, spectra, maps.image_scale * every
        )
        layers |= {"scale": scale, "residuals": residuals}
    described = []
    stored = []
    for name, layer in layers.items():
        codes, tops = _as_bytes(layer)
        described.append((name, tops))
        stored.append(codes.tobytes())
    n_rows, n_columns = abundances.shape[1:]
    return {
        "every": every,
        "rows": n_rows,
        "columns": n_columns,
        "layers": described,
        "spectra": rounded(spectra, 5),
        "directions": rounded(directions, 5),
        "bytes": base64.b64encode(zlib.compress(b"".join(stored))).decode("ascii"),
    }


def _reference_spectra(result: UnmixResult) -> Array:
    """Return the spectra that the abundances refer to, (r, n_bands)."""
    # Spectra of a library may have bands without a value.
    spectra = np.nan_to_num(np.asarray(result.endmembers.values, dtype=np.float32))
    kind = result.parameters["abundances"]
    if kind == "shares" and result.illumination is not None:
        return np.asarray(result.illumination.spectra.T, dtype=np.float32)
    if kind == "unit":
        lengths = np.linalg.norm(spectra, axis=1, keepdims=True)
        return spectra / np.where(lengths > 0, lengths, 1.0)
    return spectra


def _spectra_of_pixels(
    result: UnmixResult, scene: xr.DataArray, abundances: Array, spectra: Array, every: int
) -> tuple[Array, Array, Array]:
    """Return the scale of each fit, the residuals in their leading directions, and these."""
    bands = np.isin(band_numbers(scene), result.endmembers["band_number"].values)
    kept = slice(None, None, every)
    M, _ = block_matrix(scene.isel(y=kept, x=kept), bands)
    H = abundances.reshape(len(abundances), -1)
    known = np.flatnonzero(np.isfinite(H).all(axis=0))
    sample = known[:: max(1, known.size // _N_PIXELS)]
    _, residuals = _fit(M[:, sample], H[:, sample], spectra)
    _, vectors = np.linalg.eigh(residuals @ residuals.T)
    directions = vectors[:, ::-1][:, :8].T
    scale = np.full(H.shape[1], np.nan)
    in_directions = np.full((len(directions), H.shape[1]), np.nan)
    for first in range(0, known.size, _N_PIXELS):
        part = known[first : first + _N_PIXELS]
        scale[part], residuals = _fit(M[:, part], H[:, part], spectra)
        in_directions[:, part] = directions @ residuals
    shape = (-1, *abundances.shape[1:])
    return scale.reshape(shape), in_directions.reshape(shape), directions


def _fit(M: Array, H: Array, spectra: Array) -> tuple[Array, Array]:
    """Return the scales that fit mixtures to pixels (n_bands, n) best, and what they leave."""
    mixed = spectra.T @ H
    squares = np.einsum("ij,ij->j", mixed, mixed)
    scale = np.einsum("ij,ij->j", M, mixed) / np.where(squares > 0, squares, 1.0)
    return scale, M - scale * mixed


def _as_bytes(layer: Array) -> tuple[Array, list[float]]:
    """Return values (k, y, x) as bytes 1…255 and the largest of each of the k; 0: not known.

    A byte is 128 + 127 √|v / top|, with the sign of v: small values have small errors.
    """
    codes = np.zeros(layer.shape, dtype=np.uint8)
    tops = []
    for k, values in enumerate(layer):
        known = np.isfinite(values)
        top = float(np.max(np.abs(values[known]), initial=0.0))
        tops.append(float(f"{top:.6g}"))
        level = np.nan_to_num(values) / (top or 1.0)
        signed = 128 + np.rint(127 * np.sign(level) * np.sqrt(np.abs(level)))
        codes[k] = np.where(known, signed, 0)
    return codes, tops


def rounded(rows: Array, digits: int) -> list[list[float | None]]:
    """Return numbers with some digits; None for NaN and infinity, which JSON does not have."""
    numbers: list[list[float | None]] = []
    for row in rows:
        numbers.append([float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in row])
    return numbers
