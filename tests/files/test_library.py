"""Spectral libraries: three formats, wavelengths of a scene, and a scene unmixed by one."""

import numpy as np
import pytest
import xarray as xr
from checks import refused

from selfdict import InputError
from selfdict.datasets import make_scene
from selfdict.files.wavelengths import parse_heading
from selfdict.scene import (
    build_library,
    read_library,
    read_scene,
    resample_library,
    unmix,
    write_scene,
    write_spectra,
)
from selfdict.scene.metadata import notes_of

NAMES = ["Alunite GDS84", "Kaolinite", "dry grass"]
WAVELENGTH = np.array([400.0, 500.0, 700.0, 1000.0])
SPECTRA = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.4, 0.3, 0.2], [0.0, 1.0, 0.0, 1.0]])
HEADER = """ENVI
samples = 4
lines = 3
bands = 1
data type = 4
interleave = bsq
byte order = 0
file type = ENVI Spectral Library
wavelength units = Micrometers
wavelength = {0.4, 0.5, 0.7, 1.0}
spectra names = {Alunite GDS84, Kaolinite, dry grass}
"""


def bands(wavelength):
    return xr.DataArray(
        np.zeros(len(wavelength)), dims="band", coords={"wavelength": ("band", wavelength)}
    )


def write_envi(folder, header=HEADER, values=SPECTRA):
    (folder / "lib.hdr").write_text(header)
    (folder / "lib.sli").write_bytes(np.asarray(values, "<f4").tobytes())


def write_files(folder):
    write_envi(folder)
    np.savez(folder / "rows.npz", spectra=SPECTRA, names=NAMES, wavelength=WAVELENGTH)
    np.savez(folder / "atoms.npz", D=SPECTRA.T, names=NAMES, wavelengths_um=WAVELENGTH / 1000)
    heading = f"wavelength_um,{','.join(NAMES)}"
    table = np.column_stack([WAVELENGTH / 1000, SPECTRA.T])
    np.savetxt(folder / "lib.csv", table, delimiter=",", header=heading, comments="")
    spectra = build_library(SPECTRA, NAMES, WAVELENGTH).rename(spectrum="endmember")
    write_spectra(spectra, folder / "ours.csv")
    return ("lib.hdr", "lib.sli", "rows.npz", "atoms.npz", "lib.csv", "ours.csv")


def test_every_format_gives_the_same_library(tmp_path):
    for name in write_files(tmp_path):
        library = read_library(tmp_path / name)
        assert library.dims == ("spectrum", "band")
        assert library["name"].values.tolist() == NAMES
        np.testing.assert_allclose(library["wavelength"].values, WAVELENGTH)
        np.testing.assert_allclose(library.values, SPECTRA, rtol=1e-6)


def test_one_spectrum(tmp_path):
    np.savez(tmp_path / "row.npz", spectra=SPECTRA[:1], names=NAMES[:1], wavelength=WAVELENGTH)
    np.savez(tmp_path / "atom.npz", D=SPECTRA[:1].T, names=NAMES[:1], materials=["clay"])
    row = read_library(tmp_path / "row.npz")
    assert row["wavelength"].values.tolist() == WAVELENGTH.tolist()
    atom = read_library(tmp_path / "atom.npz")
    assert atom["material"].item() == "clay"
    np.testing.assert_array_equal(row.values, atom.values)


def test_spectra_of_one_name_stay_apart_in_a_table(tmp_path):
    spectra = build_library(SPECTRA, ["quartz", "clay", "quartz"], WAVELENGTH).rename(
        spectrum="endmember"
    )
    again = read_library(write_spectra(spectra, tmp_path / "twice.csv"))
    assert again["name"].values.tolist() == ["quartz (1)", "clay", "quartz (3)"]
    np.testing.assert_allclose(again.values, SPECTRA)


def test_scaled_values_deleted_bands_and_names_with_commas(tmp_path):
    values = SPECTRA * 100
    values[0, 1] = -1.23e34
    header = HEADER.replace("Kaolinite", "Kaolinite, fine") + "reflectance scale factor = 100\n"
    write_envi(tmp_path, header, values)
    library = read_library(tmp_path / "lib.sli")
    assert library["name"].values.tolist() == ["spectrum 1", "spectrum 2", "spectrum 3"]
    assert np.isnan(library.values[0, 1])
    np.testing.assert_allclose(library.values[1:], SPECTRA[1:], rtol=1e-6)
    assert notes_of(library) == ["the header lists 4 names for 3 spectra: they are numbered"]
    matched = resample_library(library, bands([850.0]))[0]
    np.testing.assert_allclose(matched.values[:, 0], [0.35, 0.25, 0.5], rtol=1e-6)
    # A deleted value is not bridged.
    kept = resample_library(library, bands([600.0]))[0]
    assert kept["name"].values.tolist() == ["spectrum 2", "spectrum 3"]


def test_matching_interpolates_whatever_the_order_of_the_bands():
    order = np.array([2, 0, 3, 1])
    library = build_library(SPECTRA[:, order], NAMES, WAVELENGTH[order])
    matched = resample_library(library, bands([850.0, 400.0, 600.0]))[0]
    np.testing.assert_allclose(matched.values[0], [0.35, 0.1, 0.25])
    np.testing.assert_array_equal(matched["wavelength"].values, [850.0, 400.0, 600.0])
    assert matched["name"].values.tolist() == NAMES


def test_without_wavelengths_the_bands_are_taken_one_for_one():
    library = build_library(SPECTRA, NAMES)
    matched = resample_library(library, bands(WAVELENGTH))[0]
    np.testing.assert_array_equal(matched.values, SPECTRA)
    with pytest.raises(InputError):
        resample_library(library, bands(WAVELENGTH[:3]))
    with pytest.raises(InputError):
        resample_library(
            build_library(SPECTRA, NAMES, WAVELENGTH), bands(WAVELENGTH[:3]).drop_vars("wavelength")
        )


def damaged(folder):
    """Write files that are no library; yield each."""
    yield folder / "missing.sli"
    write_envi(folder, HEADER.replace("Spectral Library", "Standard"))
    yield folder / "lib.sli"
    write_envi(folder, values=SPECTRA[:2])
    yield folder / "lib.sli"
    (folder / "alone.sli").write_bytes(b"")
    yield folder / "alone.sli"
    np.savez(folder / "a.npz", spectra=SPECTRA)
    yield folder / "a.npz"
    np.savez(folder / "b.npz", spectra=SPECTRA, names=NAMES[:2])
    yield folder / "b.npz"
    (folder / "c.npz").write_bytes(b"no archive")
    yield folder / "c.npz"
    for text in (
        "wavelength_nm,a\n400,0.1\n500\n",
        "wavelength_nm,a,a\n400,0.1,0.2\n",
        "wavelength_nm,a\n400,much\n",
        "wavelength_nm\n400\n",
        "",
    ):
        (folder / "d.csv").write_text(text)
        yield folder / "d.csv"


def test_a_file_that_is_no_library_gets_one_line(tmp_path):
    for path in damaged(tmp_path):
        refused(path, read_library)


@pytest.fixture(scope="module")
def truth():
    return make_scene(
        (16, 18), n_bands=40, n_endmembers=3, noise=0.002, n_outliers=0, random_state=0
    )


@pytest.fixture(scope="module")
def library(truth):
    """The scene's own materials, sampled more finely, among thirty others."""
    rng = np.random.default_rng(1)
    wavelength = truth.scene["wavelength"].values
    fine = np.linspace(wavelength.min(), wavelength.max(), 200)
    others = np.cumsum(rng.normal(0, 0.03, (30, 200)), axis=1)
    others = 0.3 + others - others.min(axis=1, keepdims=True)
    own = [np.interp(fine, wavelength, spectrum) for spectrum in truth.endmembers]
    names = [f"own {k}" for k in range(3)] + [f"other {k}" for k in range(30)]
    return build_library(np.vstack([own, others]), names, fine)


@pytest.mark.parametrize("candidates", [None, 50])
def test_a_scene_is_made_of_its_own_spectra(truth, library, candidates, tmp_path, monkeypatch):
    # Blocks of five rows: the peaks must be those of all blocks.
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 40 * 18 * 4 * 5)
    result = unmix(truth.scene, 3, library=library, candidates=candidates, random_state=0)
    assert sorted(result.endmembers["name"].values) == ["own 0", "own 1", "own 2"]
    assert sorted(result.atoms) == [0, 1, 2]
    assert result.gap <= 1e-3
    assert result.solution.diagonal.shape == (33,)
    assert result.solution_pixels is None
    for k, (row, column) in enumerate(result.pixels):
        assert result.abundances.values[k, row, column] == np.nanmax(result.abundances.values[k])
    write_spectra(result.endmembers, tmp_path / "endmembers.csv")
    again = read_library(tmp_path / "endmembers.csv")
    assert again["name"].values.tolist() == result.endmembers["name"].values.tolist()
    write_scene(result.abundances, tmp_path / "maps.hdr")
    maps = read_scene(tmp_path / "maps.hdr")
    assert maps["band_name"].values.tolist() == result.endmembers["name"].values.tolist()


def test_a_library_goes_with_fgnsr_and_has_enough_spectra(truth, library):
    with pytest.raises(InputError):
        unmix(truth.scene, 3, library=library, method="spa")
    with pytest.raises(InputError):
        unmix(truth.scene, 34, library=library)


@pytest.mark.parametrize("number", [0x110000, 0xFFFFFFFF, 0xD800, 0xDFFF])
def test_names_that_are_no_text(tmp_path, number):
    names = np.array([[97, number]], dtype=np.uint32).view("U2").ravel()
    np.savez(tmp_path / "library.npz", spectra=np.ones((1, 3)), names=names)
    refused(tmp_path / "library.npz", read_library)
    swapped = names.view(np.uint32).byteswap().view(">U2")
    np.savez(tmp_path / "library.npz", spectra=np.ones((1, 3)), names=swapped)
    refused(tmp_path / "library.npz", read_library)


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
