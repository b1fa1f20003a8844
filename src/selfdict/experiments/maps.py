"""Figures 3 to 6: the spectra of the pure pixels, and the abundance maps that belong to them."""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances import nnls
from selfdict.estimators import FGNSR
from selfdict.experiments.outcome import Outcome, Request, Row, subplots
from selfdict.experiments.paper import SAN_DIEGO, TERRAIN, URBAN
from selfdict.experiments.rows import fgnsr_on
from selfdict.experiments.scenes import Scene, generated, is_printed, load_all, own_rank
from selfdict.metrics import match
from selfdict.peers import h2nmf
from selfdict.readout import select_indices
from selfdict.report.palette import ABUNDANCE_MAP, line_styles

# what the paper shows: scene, rank and number of candidates
_SHOWN = ((URBAN, 6, 500), (SAN_DIEGO, 8, 100), (TERRAIN, 5, 100))


def endmembers(request: Request) -> Outcome:
    """Figure 3 and its like: the spectra of the pure pixels, beside the reference where there is one."""
    rows: list[Row] = []
    chosen = _choices(request)
    figure, axes = subplots(len(chosen), 1, 7.0, 2.6 * len(chosen))
    for ax, (scene, title, K) in zip(axes[:, 0], chosen, strict=True):
        W, reference = scene.M[:, K], scene.reference
        partners = {} if reference is None else dict(zip(*match(W, reference), strict=True))
        for k, style in enumerate(line_styles(len(K))):
            look: dict[str, Any] = {"color": style.colour, "linewidth": 1.2}
            dash = (0, style.dash) if style.dash else "-"
            ax.plot(scene.axis, W[:, k], label=f"pixel {K[k]}", linestyle=dash, **look)
            if reference is not None and k in partners:
                partner = reference[:, partners[k]]
                ax.plot(
                    scene.axis, partner * (W[:, k].sum() / partner.sum()), linestyle=":", **look
                )
        ax.set_title(
            f"{title} (dotted: reference, scaled)" if partners else title, fontsize="small"
        )
        ax.legend(frameon=False, fontsize="x-small")
        for band, position in enumerate(scene.axis):
            rows += [
                {
                    "scene": scene.name,
                    "pixel": int(K[k]),
                    "band": float(position),
                    "value": float(W[band, k]),
                }
                for k in range(len(K))
            ]
    axes[-1, 0].set_xlabel("band, or wavelength in nm")
    return Outcome({"endmembers": rows}, {"endmembers": figure})


def abundance_maps(request: Request) -> Outcome:
    """Figures 4 to 6: the nonnegative abundances as maps, with numbers for how well separated they are."""
    rows: list[Row] = []
    chosen = _choices(request)
    columns = max(len(K) for _, _, K in chosen)
    figure, axes = subplots(len(chosen), columns, 1.7 * columns + 0.4, 2.0 * len(chosen))
    for ax in axes.flat:
        ax.set_axis_off()
    for line, (scene, title, K) in zip(axes, chosen, strict=True):
        H = nnls(scene.M[:, K], scene.M)
        positions = np.argwhere(scene.valid)
        for k, (ax, pixel) in enumerate(zip(line, K)):
            ax.imshow(
                _map(scene, H[k]), vmin=0, vmax=1, cmap=ABUNDANCE_MAP, interpolation="nearest"
            )
            y, x = (int(v) for v in positions[pixel])
            ax.set_title(
                f"{title}\n{y}, {x}" if k == 0 else f"{y}, {x}", loc="left", fontsize="x-small"
            )
            rows.append(
                {
                    "scene": scene.name,
                    "pixel": int(pixel),
                    "row": y,
                    "column": x,
                    "mean_abundance": float(H[k].mean()),
                    "share_of_zeros": float((H[k] == 0).mean()),
                    "share_above_half": float((H[k] > 0.5).mean()),
                }
            )
    notes = ["titles: row and column of the pure pixel; scale from 0 to 1"]
    return Outcome({"abundance-maps": rows}, {"abundance-maps": figure}, notes)


def _choices(request: Request) -> list[tuple[Scene, str, Array]]:
    """Return scene, title and pure pixels: by the default FGNSR, and for the paper's scenes also as it did."""
    found = [generated(seed=request.seed)] if request.quick else load_all(request.data)
    chosen = []
    for scene in found:
        request.progress(f"choosing pure pixels of {scene.name}")
        shown = [(r, candidates) for printed, r, candidates in _SHOWN if is_printed(scene, printed)]
        for r, candidates in shown:
            clusters = h2nmf(scene.M, candidates)
            solution = fgnsr_on(scene.M, clusters, r, request.seed)
            K = select_indices(solution, r, scene.M, "spa", clusters=clusters)
            chosen.append((scene, f"{scene.name}, FGNSR-{candidates}, r = {r}", K))
        for r in request.ranks or [r for r, _ in shown] or [own_rank(scene)]:
            K = np.asarray(FGNSR(r, random_state=request.seed).fit(scene.M.T).indices_)
            chosen.append((scene, f"{scene.name}, FGNSR, r = {r}", K))
    return chosen


def _map(scene: Scene, values: Array) -> Any:
    image = np.full(scene.valid.shape, np.nan)
    image[scene.valid] = values
    return image
