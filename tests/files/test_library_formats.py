"""Libraries of text files: real ones that SPy ships, generated ones, and damaged ones."""

from pathlib import Path

import numpy as np
import pytest
from checks import refused

from selfdict.scene import SceneError, read_library
from selfdict.scene.metadata import notes_of

spectral = pytest.importorskip("spectral")
# Three spectra of the ECOSTRESS library, and files in the form of the USGS library.
SPY_DATA = Path(spectral.__file__).parent / "tests" / "data"
ECOSTRESS = SPY_DATA / "ecostress"
USGS = SPY_DATA / "usgs" / "ASCIIdata"

HEADER = """Name: Calcite CaCO3
Type: mineral
Class: Carbonate
Particle Size: 45-125
Sample No.: C-3A
Origin: M\xfcnchen
Description: two
  lines 1.0 2.0
3.0 4.0
Measurement: Directional Hemispherical Reflectance
First Column: X
Second Column: Y
X Units: Wavelength (micrometers)
Y Units: Reflectance (percent)
Number of X Values: 3
"""


# SPy leaves the file open.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("letter", "abc")
def test_ecostress_files_are_read_as_spy_reads_them(letter):
    path = ECOSTRESS / f"{letter}.spectrum.txt"
    theirs = spectral.database.ecostress.read_ecostress_file(str(path))
    library = read_library(path)
    np.testing.assert_allclose(library["wavelength"].values, np.array(theirs.x) * 1000)
    np.testing.assert_allclose(library.values[0], np.array(theirs.y) / 100)
    assert library["material"].item() == " ".join(theirs.sample["name"].split())
    assert library["name"].item().endswith(theirs.sample["sample no."])


def test_a_folder_of_ecostress_files_has_wavelengths_per_spectrum():
    library = read_library(ECOSTRESS)
    assert library.sizes == {"spectrum": 3, "band": 2151}
    assert library["wavelength"].dims == ("spectrum", "band")
    assert library["material"].values.tolist() == [
        "Construction Concrete",
        "lichen off trees",
        "Acer rubrum",
    ]
    # The first has 561 values from 0.3 to 15 µm.
    assert np.isfinite(library.values).sum(axis=1).tolist() == [561, 2151, 2151]
    assert np.nanmax(library["wavelength"].values, axis=1).tolist() == [15000, 2500, 2500]
    assert notes_of(library) == []


def test_aster_files_begin_at_the_longest_wavelength(tmp_path):
    text = HEADER + "\n 2.5000\t 40.0\n 2.4000\t 30.0\n 0.4000\t 10.0\n"
    (tmp_path / "calcite.spectrum.txt").write_bytes(text.encode("iso-8859-1"))
    library = read_library(tmp_path / "calcite.spectrum.txt")
    np.testing.assert_allclose(library["wavelength"].values, [400, 2400, 2500])
    np.testing.assert_allclose(library.values, [[0.1, 0.3, 0.4]])
    assert library["name"].item() == "Calcite CaCO3 C-3A"
    assert library["material"].item() == "Calcite CaCO3"


def test_usgs_files_are_read_as_spy_reads_them(tmp_path):
    database = spectral.USGSDatabase.create(str(tmp_path / "usgs.db"), str(USGS))
    rows = database.cursor.execute("SELECT SampleID, FileName FROM Samples").fetchall()
    assert len(rows) == 8
    for identifier, name in rows:
        (path,) = USGS.rglob(name)
        wavelength, values = (np.array(column) for column in database.get_spectrum(identifier))
        values[values < -1e30] = np.nan
        if "TRAN" in name:
            refused(path, read_library)
            continue
        if np.isnan(values).all():
            refused(path, read_library)
            continue
        library = read_library(path)
        np.testing.assert_allclose(library["wavelength"].values, 1000 * wavelength, rtol=1e-6)
        np.testing.assert_allclose(library.values[0], values, rtol=1e-6)
        # Bandwidths are in files of their own, in nanometres or micrometres.
        assert library["fwhm"].shape == (1, len(values))
        assert 0.4 < library["fwhm"].values.max() < 200


def test_a_folder_of_the_usgs_library():
    library = read_library(USGS / "liba")
    assert library["name"].values.tolist() == [
        "Material a b0 0 ASDFRa",
        "Material_a_b0_1 NIC4a",
        "MaterialD 00 AVIRISb",
        "MaterialD 01 BECKa",
    ]
    assert library["material"].values.tolist()[2:] == ["MaterialD", "MaterialD"]
    (note,) = notes_of(library)
    assert note.startswith("1 of 5 spectra are left out")
    assert "TRAN" in note
    # A chapter finds its wavelengths in the folder above it.
    assert read_library(USGS / "liba" / "ChapterD_d0").sizes["spectrum"] == 2
    # Convolved spectra: the number of values tells the wavelengths, not the spectrometer.
    convolved = read_library(USGS / "libc")
    assert convolved.sizes == {"spectrum": 3, "band": 7}
    assert convolved["wavelength"].dims == ("band",)
    refused(USGS, read_library)


def write_usgs(folder, values="0.1\n0.2\n0.3\n", title="Quartz GDS31 ASDFRa AREF"):
    waves = folder / "splib07a_Wavelengths_ASD.txt"
    waves.write_text(" splib07a Record=1: Wavelengths ASD 0.35-2.5 um\n0.4\n0.5\n0.6\n")
    path = folder / "splib07a_Quartz_GDS31_ASDFRa_AREF.txt"
    path.write_text(f" splib07a Record=2: {title}\n{values}")
    return path


def test_a_title_that_is_cut_off_is_completed_by_the_name_of_the_file(tmp_path):
    library = read_library(write_usgs(tmp_path, title="Quartz GDS31 a_very_long"))
    assert library["name"].item() == "Quartz GDS31 a_very_long ASDFRa"


def test_error_bars_and_other_texts_of_a_folder_are_no_spectra(tmp_path):
    write_usgs(tmp_path)
    (tmp_path / "errorbars").mkdir()
    write_usgs(tmp_path / "errorbars")
    (tmp_path / "readme.txt").write_text("See the report.\n")
    (tmp_path / "empty.txt").write_text("")
    assert read_library(tmp_path).sizes["spectrum"] == 1


def hostile(folder):
    """Write files that are no spectra; yield each."""
    path = write_usgs(folder, values="0.1\n0.2\n")
    yield path
    yield write_usgs(folder, values="0.1\nmuch\n0.3\n")
    yield write_usgs(folder, values="\n\n")
    yield write_usgs(folder, values="-1.23e34\n" * 3)
    yield folder / "splib07a_Wavelengths_ASD.txt"
    alone = folder / "alone"
    alone.mkdir()
    path = alone / "a.txt"
    for text in (
        "",
        "a b\n1 2\n",
        HEADER,
        HEADER + "0.4 1\n0.5\n",
        HEADER + "0.4 1\n0.0 2\n",
        HEADER + "0.4 1\nnan 2\n",
        HEADER.replace("(micrometers)", "(furlongs)") + "0.4 1\n",
        HEADER.replace("Wavelength (m", "Wavenumber (m") + "0.4 1\n",
        HEADER.replace("Reflectance (p", "Emissivity (p") + "0.4 1\n",
    ):
        path.write_text(text, encoding="iso-8859-1")
        yield path
    (folder / "nothing").mkdir()
    yield folder / "nothing"
    yield alone


def test_files_that_are_no_spectra_get_one_line(tmp_path):
    for path in hostile(tmp_path):
        refused(path, read_library)


def test_wavelengths_are_looked_for_beside_a_spectrum_only(tmp_path):
    path = write_usgs(tmp_path)
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    path.rename(deep / path.name)
    refused(deep / path.name, read_library)


def test_spectra_whose_names_are_numbers(tmp_path):
    path = tmp_path / "library.csv"
    path.write_text("wavelength_nm,101,102\n400,0.1,0.2\n500,0.3,0.4\n")
    library = read_library(path)
    assert library["name"].values.tolist() == ["101", "102"]
    np.testing.assert_array_equal(library["wavelength"], [400, 500])
    np.testing.assert_array_equal(library.values, [[0.1, 0.3], [0.2, 0.4]])


def test_empty_cells_are_gaps(tmp_path):
    path = tmp_path / "library.csv"
    path.write_text("wavelength_nm,a,b\n400,,0.2\n500,0.3,NA\n")
    np.testing.assert_array_equal(read_library(path).values, [[np.nan, 0.3], [0.2, np.nan]])
    path.write_text("wavelength_nm,a,b\n400,,0.2\n500,,0.4\n")
    with pytest.raises(SceneError):
        read_library(path)
