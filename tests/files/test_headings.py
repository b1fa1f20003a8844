"""Headings of wavelengths as people and spreadsheets write them."""

import numpy as np
import pytest
from refusal import refused

from selfdict.files.wavelengths import parse_heading
from selfdict.scene import read_library
from selfdict.scene.metadata import notes_of

GUESSED = "the file names no unit of its wavelengths: 500 to 600 are taken as nm"


def write_table(folder, heading, values=(500.0, 600.0), extra=""):
    path = folder / "library.csv"
    rows = [f"{heading}{extra},quartz,calcite"]
    filled = "".join(f",{k}" for k in range(extra.count(",")))
    for k, value in enumerate(values):
        rows.append(f"{value}{filled},0.{k + 1},0.{k + 5}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("heading", "factor", "notes"),
    [
        ("wavelength_nm", 1.0, []),
        ("Wavelength", 1.0, [GUESSED]),
        ("Wavelengths", 1.0, [GUESSED]),
        ("wavelength (nm)", 1.0, []),
        ("Wavelength [µm]", 1e-3, []),
        ("WAVELENGTH_UM", 1e-3, []),
        ("Wavelength (micrometers)", 1e-3, []),
        ("center wavelength / nm", 1.0, []),
        ("wavelength in nm", 1.0, []),
        ("nm", 1.0, []),
        ("Lambda", 1.0, [GUESSED]),
    ],
)
def test_headings_of_a_table(tmp_path, heading, factor, notes):
    path = write_table(tmp_path, heading, np.array([500.0, 600.0]) * factor, ",Band,FWHM")
    library = read_library(path)
    assert library["name"].values.tolist() == ["quartz", "calcite"]
    np.testing.assert_allclose(library["wavelength"].values, [500.0, 600.0])
    # The unit of widths is that of the wavelengths.
    np.testing.assert_allclose(library["fwhm"].values, np.array([1.0, 1.0]) / factor)
    assert notes_of(library) == notes


@pytest.mark.parametrize("name", ["wavelength calibration", "m", "cm", "lambda sand", "flow"])
def test_names_of_materials(name):
    assert parse_heading(name) is None


@pytest.mark.parametrize("heading", ["wavelength (cm-1)", "Wavenumber", "wavenumber (cm-1)"])
def test_a_unit_that_is_no_length(tmp_path, heading):
    refused(write_table(tmp_path, heading), read_library)


def test_two_columns_of_wavelengths(tmp_path):
    library = read_library(write_table(tmp_path, "wavelength", extra=",wavelength_um"))
    np.testing.assert_allclose(library["wavelength"].values, [0.0, 0.0])
    assert notes_of(library) == ["'wavelength_um' is used, not 'wavelength'"]
