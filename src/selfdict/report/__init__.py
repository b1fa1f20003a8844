"""The report of an unmixed scene, and the same plots for papers."""

from selfdict.report.page import render_report, write_report
from selfdict.report.plots import (
    plot_abundances,
    plot_dominant,
    plot_map,
    plot_matches,
    plot_scene,
    plot_spectra,
)

__all__ = [
    "plot_abundances",
    "plot_dominant",
    "plot_map",
    "plot_matches",
    "plot_scene",
    "plot_spectra",
    "render_report",
    "write_report",
]
