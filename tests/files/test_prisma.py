"""PRISMA L2D: two detectors joined by wavelength, the scale of each, and the map grid."""

import numpy as np
import pytest
from sensor_files import (
    PRISMA_FIELDS,
    PRISMA_SCALES,
    PRISMA_SWIR,
    PRISMA_VNIR,
    prisma_numbers,
    write_prisma,
)

from selfdict import InputError
from selfdict.scene import crs_of, matrix, read_scene, transform_of, valid_mask

OTHER_LEVEL = "HDFEOS/SWATHS/PRS_L1_HCO/Data Fields/VNIR_Cube"


def reflectance(wavelength, detector):
    """Return the reflectance (row, column) of one band by the formula of the product."""
    vnir, swir = prisma_numbers()
    listed, cube = (PRISMA_VNIR, vnir) if detector == "Vnir" else (PRISMA_SWIR, swir)
    low, high = PRISMA_SCALES[detector]
    numbers = cube[:, listed.index(wavelength), :].astype(float)
    return low + numbers * (high - low) / 65535


EXPECTED = {
    None: [(400, "Vnir"), (500, "Vnir"), (700, "Vnir"), (950, "Vnir"), (970, "Vnir")],
    "swir": [(400, "Vnir"), (500, "Vnir"), (700, "Vnir"), (940, "Swir"), (960, "Swir")],
    "both": [
        (400, "Vnir"),
        (500, "Vnir"),
        (700, "Vnir"),
        (940, "Swir"),
        (950, "Vnir"),
        (960, "Swir"),
        (970, "Vnir"),
    ],
}
EXPECTED["vnir"] = EXPECTED[None]
LONG = [(1000, "Swir"), (1500, "Swir"), (2490, "Swir")]


@pytest.mark.parametrize("overlap", EXPECTED)
def test_reflectances_of_both_detectors_by_wavelength(tmp_path, overlap):
    scene = read_scene(write_prisma(tmp_path / "prisma.he5"), overlap=overlap)
    bands = EXPECTED[overlap] + LONG
    assert scene.dims == ("band", "y", "x")
    assert scene.shape == (len(bands), 4, 5)
    assert scene.wavelength.values.tolist() == [wavelength for wavelength, _ in bands]
    np.testing.assert_allclose(scene.fwhm.values, scene.wavelength.values / 100, rtol=1e-6)
    valid = np.ones((4, 5), dtype=bool)
    valid[1, 2] = False
    expected = np.stack([reflectance(*band)[valid] for band in bands])
    np.testing.assert_allclose(matrix(scene), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(valid_mask(scene).values, valid)


def test_what_is_said_about_the_overlap(tmp_path):
    path = write_prisma(tmp_path / "prisma.he5")
    span = "VNIR and SWIR overlap from 940 to 970 nm"
    notes = {
        None: f"{span}: VNIR is kept, 2 bands are left out (overlap)",
        "swir": f"{span}: SWIR is kept, 2 bands are left out (overlap)",
        "both": f"{span}: the bands of both are kept, by wavelength (overlap)",
    }
    for overlap, note in notes.items():
        assert note in read_scene(path, overlap=overlap).attrs["selfdict_notes"]
    with pytest.raises(InputError):
        read_scene(path, overlap="nir")


def test_bad_bands_displace_no_good_ones(tmp_path):
    # The entry of wavelength 0, and 970 nm: VNIR then ends at 950 nm.
    flags = {"List_Cw_Vnir_Flags": np.array([0, 0, 1, 1, 1, 1])}
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", attributes=flags))
    good = scene.good_band.values
    assert scene.wavelength.values[good].tolist() == [400, 500, 700, 950, 960, 1000, 1500, 2490]
    assert scene.wavelength.values[~good].tolist() == [970]
    note = "VNIR and SWIR overlap from 940 to 950 nm: VNIR is kept, 1 bands are left out (overlap)"
    assert note in scene.attrs["selfdict_notes"]


@pytest.mark.parametrize("kind", ["centres", "edges"])
def test_the_distance_of_the_corners_tells_what_they_are(tmp_path, kind):
    corners = {}
    if kind == "edges":
        corners = {
            "Product_ULcorner_easting": 600000.0,
            "Product_ULcorner_northing": 5000000.0,
            "Product_LRcorner_easting": 600150.0,
            "Product_LRcorner_northing": 4999880.0,
        }
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", attributes=corners))
    assert crs_of(scene).to_epsg() == 32633
    assert transform_of(scene).to_gdal() == (600000.0, 30.0, 0.0, 5000000.0, 0.0, -30.0)
    note = f"the corners that the file lists are taken as pixel {kind}"
    assert any(sentence.startswith(note) for sentence in scene.attrs["selfdict_notes"])


@pytest.mark.parametrize(
    ("attributes", "note"),
    [
        ({"Product_LRcorner_easting": 601000.0}, "does not fit 4 × 5"),
        ({"Product_ULcorner_easting": None}, "the file has no corners"),
    ],
)
def test_corners_that_do_not_fit_give_no_map(tmp_path, attributes, note):
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", attributes=attributes))
    assert transform_of(scene) is None
    assert any(note in sentence for sentence in scene.attrs["selfdict_notes"])


def test_crs_that_is_missing_or_unknown(tmp_path):
    scene = read_scene(write_prisma(tmp_path / "a.he5", attributes={"Epsg_Code": None}))
    assert crs_of(scene) is None
    assert "the file names no CRS (Epsg_Code)" in scene.attrs["selfdict_notes"]
    scene = read_scene(write_prisma(tmp_path / "b.he5", attributes={"Epsg_Code": b"999999"}))
    assert crs_of(scene) is None
    assert "the CRS 'EPSG:999999' in the file is not known" in scene.attrs["selfdict_notes"]


def test_bands_with_a_flag_of_0_are_bad(tmp_path):
    flags = np.array([1, 1, 0, 1, 1, 0], dtype=np.uint8)
    path = write_prisma(tmp_path / "prisma.he5", attributes={"List_Cw_Swir_Flags": flags})
    scene = read_scene(path)
    assert scene.wavelength.values[~scene.good_band.values].tolist() == [1000.0]


def test_values_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.files.lazy.BLOCK_BYTES", 200)
    cubes = prisma_numbers(1, (9, 7))
    path = write_prisma(tmp_path / "prisma.he5", cubes, chunks=(2, 6, 3), compression="gzip")
    scene = read_scene(path, overlap="both")
    assert scene.data.numblocks[1:] == (5, 3)
    joined = np.concatenate([cubes[0][:, 1:], cubes[1][:, :-1]], axis=1).transpose(1, 0, 2)
    order = np.argsort(PRISMA_VNIR[1:] + PRISMA_SWIR[:-1])
    np.testing.assert_array_equal(scene.values, joined[order])
    part = scene.isel(band=[6, 2], y=slice(3, 8), x=4)
    np.testing.assert_array_equal(part.values, joined[order][[6, 2], 3:8, 4])


def test_one_detector_alone(tmp_path):
    path = write_prisma(tmp_path / "prisma.he5", change={f"{PRISMA_FIELDS}/SWIR_Cube": None})
    scene = read_scene(path)
    assert scene.wavelength.values.tolist() == [400.0, 500.0, 700.0, 950.0, 970.0]
    assert "the file has no SWIR_Cube" in scene.attrs["selfdict_notes"]
