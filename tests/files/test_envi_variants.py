"""ENVI headers as other software writes them: datums, units, names, comments and byte marks."""

import shutil

import numpy as np
import pytest
from scene_sample import TRANSFORM

from selfdict.files.envi import parse_fields
from selfdict.scene import build_scene, crs_of, read_scene, transform_of, write_scene
from selfdict.scene.metadata import notes_of

START = "ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n"
PLACE = "1, 1, 500000, 4000000, 30, 30"


def write(folder, fields, name="cube.hdr", mark=b""):
    (folder / "cube.img").write_bytes(bytes(range(1, 13)))
    (folder / name).write_bytes(mark + (START + fields).encode())
    return folder / name


@pytest.mark.parametrize(
    ("info", "epsg", "note"),
    [
        ("Geographic Lat/Lon, {}, WGS-84, units=Degrees", 4326, None),
        ("Geographic Lat/Lon, {}, North America 1983, units=Degrees", 4269, None),
        ("Geographic Lat/Lon, {}, NAD-27", 4267, None),
        ("Geographic Lat/Lon, {}, North America 1927, units=Degrees", 4267, None),
        ("Geographic Lat/Lon, {}, WGS-72, units=Degrees", 4322, None),
        ("Geographic Lat/Lon, {}, European 1950, units=Degrees", 4230, None),
        ("Geographic Lat/Lon, {}, units=Degrees", 4326, "names no datum: WGS-84 is assumed"),
        ("Geographic Lat/Lon, {}, Ord. Survey 1936", None, "the datum 'Ord. Survey 1936' of"),
        ("Geographic Lat/Lon, {}, WGS-84, units=Radians", None, "is in 'Radians'"),
        ("UTM, {}, 33, North, WGS-84, units=Meters", 32633, None),
        ("UTM, {}, 33, South, WGS-84", 32733, None),
        ("UTM, {}, 13, North, North America 1983, units=Meters", 26913, None),
        ("UTM, {}, 13, North, North America 1927, units=Feet", None, "is in 'Feet'"),
        ("UTM, {}, 13, South, NAD-83", None, "UTM has no zone '13' 'South'"),
        ("UTM, {}, 99, North, WGS-84", None, "UTM has no zone '99'"),
        ("UTM, {}, 33, North, Mars 2000", None, "the datum 'Mars 2000'"),
        ("UTM, {}", None, "names no zone and datum"),
        ("Albers Conical Equal Area, {}, WGS-84", None, "the projection 'Albers"),
        ("Arbitrary, {}", None, None),
    ],
)
def test_projections_and_datums(tmp_path, info, epsg, note):
    scene = read_scene(write(tmp_path, f"map info = {{{info.format(PLACE)}}}\n"))
    crs = crs_of(scene)
    if epsg is None:
        assert crs is None
    else:
        assert crs.to_epsg() == epsg
    # The grid is known all the same.
    assert transform_of(scene).c == 500000.0
    if note is None:
        assert notes_of(scene) == []
    else:
        assert len(notes_of(scene)) == 1
        assert note in notes_of(scene)[0]


def test_a_string_that_is_not_understood_is_noted(tmp_path):
    fields = f"map info = {{UTM, {PLACE}, 33, North, WGS-84}}\ncoordinate system string = {{x}}\n"
    scene = read_scene(write(tmp_path, fields))
    assert crs_of(scene).to_epsg() == 32633
    assert notes_of(scene) == ["'coordinate system string' is not understood, and not used"]


@pytest.mark.parametrize("crs", ["EPSG:4269", "EPSG:2193", "EPSG:2225", None])
def test_a_round_trip_needs_no_note(tmp_path, crs):
    scene = build_scene(np.ones((2, 2, 2)), crs=crs, transform=TRANSFORM)
    scene = read_scene(write_scene(scene, tmp_path / "cube.hdr"))
    assert notes_of(scene) == []
    assert (crs_of(scene) is None) == (crs is None)


def test_a_header_with_the_whole_name_comes_first(tmp_path):
    (tmp_path / "x.bip").write_bytes(bytes(range(12)))
    (tmp_path / "x.bip.hdr").write_text(START.replace("bsq", "bip"))
    alone = read_scene(tmp_path / "x.bip")
    assert notes_of(alone) == []
    (tmp_path / "x.hdr").write_text(START)
    both = read_scene(tmp_path / "x.bip")
    np.testing.assert_array_equal(both.values, np.arange(12).reshape(2, 2, 3).transpose(2, 0, 1))
    assert notes_of(both) == ["the header is taken to be x.bip.hdr, not x.hdr"]
    shutil.move(tmp_path / "x.bip.hdr", tmp_path / "other.hdr")
    np.testing.assert_array_equal(read_scene(tmp_path / "x.bip").values.ravel(), np.arange(12))


def test_a_byte_order_mark_and_comments_in_lists(tmp_path):
    fields = (
        "wavelength units = Nanometers\n"
        "wavelength = {450,\n  ; measured again, in {May}\n 550,\n; 600,\n650}\n"
    )
    scene = read_scene(write(tmp_path, fields, mark=b"\xef\xbb\xbf"))
    assert scene.wavelength.values.tolist() == [450.0, 550.0, 650.0]


def test_a_semicolon_within_a_line_is_no_comment():
    assert parse_fields("band names = {a; b, c}") == {"band names": "a; b, c"}
