"""Each fault of a file is found, and what is surely wrong is left out and said."""

import csv
import re

import numpy as np
import pytest
from click.testing import CliRunner

from selfdict import InputError
from selfdict.cli.app import app
from selfdict.datasets import make_scene
from selfdict.report.pictures import Maps
from selfdict.scene import (
    build_scene,
    preflight,
    read_scene,
    unmix,
    valid_mask,
    write_scene,
    write_spectra,
)

WAVELENGTH = np.linspace(450, 900, 10)


def clean_values():
    """Return a cube of 10 bands without any fault, (10, 12, 14)."""
    truth = make_scene((12, 14), 10, 3, n_outliers=0, border=0, random_state=0)
    return truth.scene.values


def clean_scene(**known):
    return build_scene(clean_values(), **({"wavelength": WAVELENGTH} | known))


def changed(index, values, **known):
    """Return the clean scene with other values at an index."""
    cube = clean_values()
    cube[index] = values
    return build_scene(cube, **({"wavelength": WAVELENGTH} | known))


def integers(factor=1000, dtype=np.int16, **known):
    values = np.round(factor * clean_values()).astype(dtype)
    return build_scene(values, **({"wavelength": WAVELENGTH} | known))


NO_DATA = changed(np.s_[:, :2], -9999)
# The kind of each finding, and the numbers in its sentence.
FAULTS = {
    "no fault": (clean_scene(), {}),
    "scale": (integers(10_000, scale_factor=1e-4), {"scale": "0.0001"}),
    "scale and offset": (
        integers(10_000, scale_factor=1e-4, add_offset=0.5),
        {"scale": "0.0001 0.5"},
    ),
    "a scale that makes no reflectance": (
        integers(10_000, scale_factor=0.01),
        {"scale": "0.01", "wrong scale": "29.69 0 1"},
    ),
    "no scale": (integers(), {"scale": "16"}),
    "scales per band": (clean_scene(scale_factor=np.linspace(1, 2, 10)), {"scale": "1 2"}),
    "no-data pixels": (NO_DATA.assign_attrs(_FillValue=-9999), {"no data": "28 168 -9999"}),
    "zero pixels": (changed(np.s_[:, 0, 0], 0), {"no data": "1 168"}),
    "undeclared no-data": (NO_DATA, {"undeclared no data": "28 168 -9999"}),
    "undeclared no-data without a sign": (
        build_scene(np.where(NO_DATA < 0, 65535, 1000 * NO_DATA).astype(np.uint16)),
        {"undeclared no data": "28 168 65535", "scale": "16", "wavelengths": ""},
    ),
    "uniform pixel": (changed(np.s_[:, 3, 4], 0.5), {"undeclared no data": "1 0.5"}),
    "holes": (changed((4, slice(0, 3), 5), np.nan), {"missing values": "1 3 5"}),
    "dead band": (changed(6, 0), {"dead bands": "1 7"}),
    "dead bands beside no data": (
        changed(np.s_[2:5, 3:], 0.25)
        .where(np.arange(12)[:, None] >= 3, -9999)
        .assign_attrs(_FillValue=-9999),
        {"no data": "42 168 -9999", "dead bands": "3 3 5"},
    ),
    "empty band": (changed(6, np.nan), {"dead bands": "1 7"}),
    "bad bands": (clean_scene(good_band=[True] * 6 + [False] * 4), {"bad bands": "4 7 10"}),
    "all bad": (clean_scene(good_band=[False] * 10), {"bad bands": ""}),
    "far below zero": (
        changed((3, 0, slice(0, 5)), -1688),
        {"range": "1 -1688 0.3012 4", "negative values": "5 0.298 1 -1688"},
    ),
    "missing values in all bands": (
        changed((np.arange(10), np.arange(10), 3), -9999),
        {"undeclared no data": "10 -9999 0.4393", "negative values": "10 0.595 10 -9999"},
    ),
    "signed values": (
        clean_scene() - 0.25,
        {"negative values": "1 053 62.7 10 -0.154917"},
    ),
    "far above the others": (changed((3, 0, 0), 1688), {"range": "1 1688 0.4543 4"}),
    "a negative value": (changed((3, 0, 0), -0.01), {"negative values": "1 0.0595 1 -0.01"}),
    "saturated": (
        changed((slice(2, 4), slice(0, 4), slice(0, 3)), 0.45),
        {"saturation": "24 2 0.45 3 4"},
    ),
    "no wavelengths": (clean_scene(wavelength=None), {"wavelengths": ""}),
}


def found(look):
    """Return the kinds of the findings with the numbers in their sentences."""
    numbers = {}
    for finding in look.findings:
        numbers[finding.kind] = " ".join(re.findall(r"-?\d[\d.]*(?<!\.)", finding.sentence))
    assert len(numbers) == len(look.findings)
    return numbers


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_also_in_blocks(monkeypatch, fault):
    scene, expected = FAULTS[fault]
    assert found(preflight(scene)) == expected
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 2000)
    assert found(preflight(scene.chunk(y=5, x=4))) == expected


def test_wavelengths_that_are_missing_or_do_not_rise():
    wavelength = WAVELENGTH.copy()
    wavelength[[1, 8]] = np.nan
    wavelength[5] = wavelength[4]
    missing, falling = preflight(clean_scene(wavelength=wavelength)).sentences
    assert missing.endswith(": 2, 9")
    assert falling.endswith("band 6")


def test_every_band_constant():
    scene = build_scene(np.arange(1.0, 11.0)[:, None, None] * np.ones((10, 12, 14)))
    look = preflight(scene)
    assert look.used.all()
    assert look.dead.all()
    # but in few pixels values may agree by chance
    assert not preflight(scene.isel(y=slice(0, 3), x=slice(0, 5))).dead.any()


def test_marks_and_masks_and_notes():
    good = np.arange(10) < 8
    scene = changed(8, 0.5, good_band=good)
    scene.attrs["selfdict_notes"] = ["the reader assumed something"]
    mask = np.zeros((12, 14), dtype=bool)
    mask[:, 0] = True
    look = preflight(scene, mask=mask)
    # Band 9 is dead as well: it is named once.
    assert found(look) == {"reading": "", "no data": "12 168", "bad bands": "2 9 10"}
    assert look.sentences[0] == "the reader assumed something"
    assert look.n_pixels == 156
    kept = preflight(scene, mask=mask, keep_bands=True)
    assert kept.used.all()
    assert kept.left_out.tolist() == []
    assert found(kept) == found(look)


def test_an_undeclared_value_can_be_declared(tmp_path):
    path = write_scene(NO_DATA, tmp_path / "cube.nc")
    scene = read_scene(path, nodata=-9999)
    assert found(preflight(scene)) == FAULTS["no-data pixels"][1]
    assert unmix(scene, 2, method="spa").n_valid == 140
    path = write_scene(integers(), tmp_path / "integers.nc")
    nodata = read_scene(path, nodata=-1.0).attrs["_FillValue"]
    assert type(nodata) is int


def test_unmix_leaves_bands_out_and_the_others_keep_their_numbers(tmp_path):
    scene = changed(2, 0.5, good_band=np.arange(10) < 8)
    result = unmix(scene, 2, method="spa")
    assert result.preflight.left_out.tolist() == [3, 9, 10]
    assert result.endmembers.band_number.values.tolist() == [1, 2, 4, 5, 6, 7, 8]
    used = scene.isel(band=[0, 1, 3, 4, 5, 6, 7])
    expected = unmix(used, 2, method="spa")
    np.testing.assert_array_equal(result.abundances.values, expected.abundances.values)
    kept = unmix(scene, 2, method="spa", keep_bands=True)
    assert kept.endmembers.sizes["band"] == 10
    with write_spectra(result.endmembers, tmp_path / "e.csv").open() as file:
        assert [row["band"] for row in csv.DictReader(file)] == list("1245678")
    path = write_scene(changed(6, 0), tmp_path / "cube.nc")
    assert preflight(read_scene(path, bands=[3, 4, 5, 6, 7])).left_out.tolist() == [7]


def test_a_preflight_is_taken_as_it_is():
    scene = changed(2, 0.5)
    look = preflight(scene)
    steps = []
    result = unmix(
        scene,
        2,
        method="spa",
        preflight=look,
        progress=lambda step, share: steps.append(step),
    )
    assert result.preflight is look
    assert "preflight" not in steps
    with pytest.raises(InputError):
        unmix(scene.isel(band=slice(0, 5)), 2, method="spa", preflight=look)


@pytest.mark.parametrize("dead", [1, 4, 7])
def test_no_picture_of_a_dead_band(dead):
    # Bands 8, 5 and 2 of ten without wavelengths would be shown.
    scene = changed(dead, 0, wavelength=None)
    for keep_bands in (False, True):
        result = unmix(scene, 2, method="spa", keep_bands=keep_bands)
        image, labels = Maps(result).false_colour()
        assert f"Band {dead + 1}" not in labels
        assert (np.ptp(image, axis=(1, 2)) > 0).all()


def test_damaged_values_give_no_warning():
    values = clean_values().astype(np.float64)
    values[0, 0, :6] = [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324]
    assert preflight(build_scene(values, wavelength=WAVELENGTH)).n_pixels == 168


def test_convert_repeats_the_notes_of_the_reader(tmp_path):
    np.save(tmp_path / "cube.npy", clean_values())
    words = ["convert", str(tmp_path / "cube.npy"), str(tmp_path / "cube.nc")]
    done = CliRunner().invoke(app, words)
    assert done.stdout == f"{tmp_path / 'cube.nc'}\n"
    assert "10 × 12 × 14" in done.stderr


def test_other_values_in_all_bands_are_used():
    values = np.random.default_rng(0).uniform(0.1, 0.5, (5, 8, 9))
    values[:, 0, 0] = 0.3
    values[:, 0, 1] = 9.96921e36
    scene = build_scene(values)
    assert np.argwhere(~valid_mask(scene).values).tolist() == [[0, 1]]
    # Stored as negative numbers, but not negative.
    offset = build_scene(values - 1, add_offset=1.0)
    assert valid_mask(offset).values[0, 0]
