"""The report of an unmixed scene, and the same plots for papers."""

from selfdict.report.page import render_report, write_report
from selfdict.report.plots import (
    plot_abundances,
    plot_dominant,
    plot_matches,
    plot_residual,
    plot_scene,
    plot_spectra,
    plot_uncertainty,
    plot_weights,
)

__all__ = [
    "plot_abundances",
    "plot_dominant",
    "plot_matches",
    "plot_residual",
    "plot_scene",
    "plot_spectra",
    "plot_uncertainty",
    "plot_weights",
    "render_report",
    "write_report",
]
