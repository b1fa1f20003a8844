"""A small report made of random numbers."""

import numpy as np

from selfdict.report import Certificate, GroupProof, MethodResult, ReportData


def make_data(
    r: int = 3, shape: tuple[int, int] = (20, 30), n_bands: int = 40, **changes: object
) -> ReportData:
    rng = np.random.default_rng(0)
    mask = np.ones(shape, dtype=bool)
    mask[:2] = False
    wavelengths = np.linspace(400.0, 2500.0, n_bands)
    fields: dict[str, object] = {
        "title": "cube.hdr",
        "method": "FGNSR-100",
        "false_colour": rng.random((3, *shape)),
        "false_colour_labels": ["860 nm", "650 nm", "550 nm"],
        "mask": mask,
        "band_positions": wavelengths,
        "band_labels": [f"Band {k + 1} · {nm:.5g} nm" for k, nm in enumerate(wavelengths)],
        "axis_label": "Wavelength (nm)",
        "endmembers": 0.1 + 0.8 * rng.random((n_bands, r)),
        "abundances": rng.random((r, *shape)),
        "residual": 0.1 * rng.random(shape),
        "pixels": np.column_stack([rng.integers(2, shape[0], r), rng.integers(0, shape[1], r)]),
        "error": 0.0314,
        "seconds": 1.5,
        "weights": np.linspace(1, 0.5, r),
        "other_weights": np.linspace(0.4, 0.1, 7),
        "certificate": Certificate(
            12.5, 12.4995, 4e-5, 0.1, "The certified gap is below the tolerance.", 100, 10
        ),
        "comparison": [MethodResult("SPA", 0.05, 0.01, np.zeros((r, 2), dtype=int))],
        "parameters": {"File": "cube.hdr", "Seed": 0},
        "command": "selfdict unmix cube.hdr -r 3",
    }
    return ReportData(**(fields | changes))  # type: ignore[arg-type]


def make_group_data(r: int = 3, shape: tuple[int, int] = (20, 30), **changes: object) -> ReportData:
    """Return a report of averages over groups and of shares, with errors and a proof."""
    rng = np.random.default_rng(1)
    n_bands = 40
    fields: dict[str, object] = {
        "abundances": rng.dirichlet(np.full(r, 0.4), shape).transpose(2, 0, 1),
        "endmember_kind": "average",
        "abundance_kind": "shares",
        "spread": 0.02 + 0.02 * rng.random((n_bands, r)),
        "counts": np.arange(r) + 30,
        "group_sizes": np.arange(r) + 40,
        "group_weights": np.linspace(1.2, 0.6, r),
        "proof": GroupProof(
            enough=0.0132,
            needed=np.linspace(0.4567, 0.0019, r),
            limit=0.02,
            closed_share=0.97,
            n_candidates=100,
        ),
        "uncertainty": 0.01 + 0.05 * rng.random((r, *shape)),
        "pixel_error": 0.0275,
        "findings": ["12 values (0.01 %) in 3 bands are negative and used as they are"],
    }
    return make_data(r=r, shape=shape, n_bands=n_bands, **(fields | changes))
