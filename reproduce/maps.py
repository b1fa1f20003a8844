"""Figures 3 to 6: the spectra of the pure pixels, and their abundance maps."""

from typing import Any

import numpy as np

from reproduce.outcome import Outcome, Request, Row, progress, subplots
from reproduce.paper import SAN_DIEGO, TERRAIN, URBAN
from reproduce.rows import fgnsr_on
from reproduce.scenes import Scene, is_printed, own_rank, requested_scenes
from selfdict._display import ABUNDANCE_MAP, line_styles
from selfdict._validation import Array
from selfdict.abundances import nnls
from selfdict.estimators import FGNSR
from selfdict.metrics import match
from selfdict.peers import h2nmf
from selfdict.readout import select_indices

# What the paper shows: scene, rank and number of candidates.
_SHOWN = ((URBAN, 6, 500), (SAN_DIEGO, 8, 100), (TERRAIN, 5, 100))


def endmembers(request: Request) -> Outcome:
    """Figure 3: spectra of the pure pixels and of the reference (needs --data)."""
    rows: list[Row] = []
    chosen = _choose_pixels(request)
    figure, axes = subplots(len(chosen), 1, 7.0, 2.6 * len(chosen))
    for ax, (scene, title, K) in zip(axes[:, 0], chosen, strict=True):
        _draw_spectra(ax, scene, title, K)
        for band, position in enumerate(scene.axis):
            for pixel in K:
                rows.append(
                    {
                        "scene": scene.name,
                        "pixel": int(pixel),
                        "band": float(position),
                        "value": float(scene.M[band, pixel]),
                    }
                )
    axes[-1, 0].set_xlabel("band, or wavelength in nm")
    return Outcome({"endmembers": rows}, {"endmembers": figure})


def _draw_spectra(ax: Any, scene: Scene, title: str, K: Array) -> None:
    """Draw the spectra of the pixels K, and the reference matched to each as a dotted line."""
    W = scene.M[:, K]
    partners: dict[int, Array] = {}
    if scene.reference is not None:
        # At most as many pairs as there are spectra on the smaller side.
        for k, j in zip(*match(W, scene.reference), strict=True):
            partners[int(k)] = scene.reference[:, j]
        title += " (dotted: reference, scaled)"
    for k, style in enumerate(line_styles(len(K))):
        line: dict[str, Any] = {"color": style.colour, "linewidth": 1.2}
        ax.plot(scene.axis, W[:, k], label=f"pixel {K[k]}", linestyle=style.matplotlib_dash, **line)
        if k in partners:
            partner = partners[k]
            # The scale of a reference spectrum is arbitrary; its shape is what is compared.
            scale = W[:, k].sum() / partner.sum()
            ax.plot(scene.axis, partner * scale, linestyle=":", **line)
    ax.set_title(title, fontsize="small")
    ax.legend(frameon=False, fontsize="x-small")


def abundance_maps(request: Request) -> Outcome:
    """Figures 4 to 6: abundance maps (needs --data)."""
    rows: list[Row] = []
    chosen = _choose_pixels(request)
    n_columns = max(len(K) for _, _, K in chosen)
    figure, axes = subplots(len(chosen), n_columns, 1.7 * n_columns + 0.4, 2.0 * len(chosen))
    # Ranks differ between rows of the figure: some axes stay empty.
    for ax in axes.flat:
        ax.set_axis_off()
    for axes_of_row, (scene, title, K) in zip(axes, chosen, strict=True):
        H = nnls(scene.M[:, K], scene.M)
        # M has a column per valid pixel: this gives the row and column of each.
        positions = np.argwhere(scene.valid)
        for k, pixel in enumerate(K):
            row = int(positions[pixel, 0])
            column = int(positions[pixel, 1])
            heading = f"{row}, {column}"
            if k == 0:
                heading = f"{title}\n{heading}"
            ax = axes_of_row[k]
            # One scale for all maps, so that they can be compared.
            ax.imshow(
                _image(scene, H[k]), vmin=0, vmax=1, cmap=ABUNDANCE_MAP, interpolation="nearest"
            )
            ax.set_title(heading, loc="left", fontsize="x-small")
            rows.append(
                {
                    "scene": scene.name,
                    "pixel": int(pixel),
                    "row": row,
                    "column": column,
                    "mean_abundance": float(H[k].mean()),
                    "share_of_zeros": float((H[k] == 0).mean()),
                    "share_above_half": float((H[k] > 0.5).mean()),
                }
            )
    notes = ["titles: row and column of the pure pixel; scale from 0 to 1"]
    return Outcome({"abundance-maps": rows}, {"abundance-maps": figure}, notes)


def _choose_pixels(request: Request) -> list[tuple[Scene, str, Array]]:
    """Return scene, title and pure pixels of each row of the figure.

    The pixels are those of the default FGNSR; for the paper's scenes also those of the variant
    that the paper shows.
    """
    chosen = []
    for scene in requested_scenes(request):
        progress(f"choosing pure pixels of {scene.name}")
        shown = [(r, count) for printed, r, count in _SHOWN if is_printed(scene, printed)]
        # As the paper: preselection by H2NMF, Algorithm 1, then SPA on the rows of X.
        for r, count in shown:
            clusters = h2nmf(scene.M, count)
            solution = fgnsr_on(scene.M, clusters, r, request.seed)
            K = select_indices(solution, r, method="spa")
            chosen.append((scene, f"{scene.name}, FGNSR-{count}, r = {r}", K))
        # --rank comes first, then the rank of the paper's figure.
        ranks = list(request.ranks) or [r for r, _ in shown]
        if not ranks:
            ranks = [own_rank(scene)]
        for r in ranks:
            K = np.asarray(FGNSR(r, random_state=request.seed).fit(scene.M.T).indices_)
            chosen.append((scene, f"{scene.name}, FGNSR, r = {r}", K))
    return chosen


def _image(scene: Scene, values: Array) -> Array:
    """Return the values of the valid pixels as an image, NaN elsewhere."""
    image = np.full(scene.valid.shape, np.nan)
    image[scene.valid] = values
    return image
