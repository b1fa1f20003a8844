"""The report of an unmixed scene, and the same plots for papers."""

from selfdict.report.collect import method_result, report_data
from selfdict.report.data import MethodResult, ReportData
from selfdict.report.evidence import GroupProof
from selfdict.report.html import render_report, write_report
from selfdict.report.matches import plot_matches
from selfdict.report.plots import (
    plot_abundances,
    plot_dominant,
    plot_residual,
    plot_scene,
    plot_spectra,
    plot_uncertainty,
    plot_weights,
)
from selfdict.report.words import Certificate

__all__ = [
    "Certificate",
    "GroupProof",
    "MethodResult",
    "ReportData",
    "method_result",
    "plot_abundances",
    "plot_dominant",
    "plot_matches",
    "plot_residual",
    "plot_scene",
    "plot_spectra",
    "plot_uncertainty",
    "plot_weights",
    "render_report",
    "report_data",
    "write_report",
]
