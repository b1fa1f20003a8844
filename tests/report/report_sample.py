"""A small report made of random numbers."""

import numpy as np

from selfdict.report import Certificate, MethodResult, ReportData


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
