"""The layout of EMIT L2A files, built here group by group, and its look-up table to the map."""

import numpy as np
import pytest
from scene_sample import full_scene
from sensor_files import FILL, write_emit

from selfdict import InputError
from selfdict.scene import SceneError, read_scene, transform_of, unmix, valid_mask, write_scene


@pytest.fixture
def swath():
    return np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)).astype(np.float32)


def test_in_sensor_geometry(tmp_path, swath):
    scene = read_scene(write_emit(tmp_path / "emit.nc", swath), ortho=False)
    np.testing.assert_array_equal(scene.values, swath.transpose(2, 0, 1))
    assert scene.lon.values.tolist() == [[2.0] * 3] * 2
    assert transform_of(scene) is None
    result = unmix(scene, 2, method="spa")
    assert result.crs == "EPSG:4326"
    assert result.coordinates.tolist() == [[2.0, 1.0]] * 2
    read = read_scene(write_scene(scene, tmp_path / "copy.nc"))
    np.testing.assert_array_equal(read.values, scene.values)
    np.testing.assert_array_equal(read.lat.values, scene.lat.values)


def test_a_file_without_marks_of_bands(tmp_path, swath):
    change = {"sensor_band_parameters/good_wavelengths": None}
    scene = read_scene(write_emit(tmp_path / "emit.nc", swath, **change))
    assert "good_band" not in scene.coords
    assert scene.attrs["selfdict_notes"] == ["the file marks no bands as bad"]


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
@pytest.mark.parametrize("name", ["radiance", "reflectance_uncertainty"])
def test_other_cubes_of_the_same_layout(tmp_path, swath, name, suffix):
    change = {"reflectance": None, name: swath, "flags": np.zeros((2, 3), dtype="u1")}
    path = write_emit(tmp_path / f"emit{suffix}", swath, **change)
    scene = read_scene(path)
    assert scene.shape == (4, 4, 4)
    assert scene.name == name
    assert scene.wavelength.values[[0, -1]].tolist() == [400.0, 2400.0]
    np.testing.assert_array_equal(scene.values[:, 0, 1], swath[0, 0])
    assert transform_of(scene).a == 0.5
    assert f"the values are those of '{name}', no reflectances" in scene.attrs["selfdict_notes"]
    np.testing.assert_array_equal(read_scene(path, variable=name).values, scene.values)


@pytest.mark.parametrize(
    ("cube", "names", "what"),
    [("obs", "observation_bands", "observation geometry"), ("mask", "mask_bands", "masks")],
)
@pytest.mark.parametrize("suffix", [".nc", ".h5"])
def test_other_products_of_emit_are_told_apart(tmp_path, swath, cube, names, what, suffix):
    parameters = "sensor_band_parameters"
    change = {
        "reflectance": None,
        f"{parameters}/wavelengths": None,
        f"{parameters}/{names}": np.array([b"a", b"b", b"c", b"d"]),
        cube: swath,
    }
    path = write_emit(tmp_path / f"emit{suffix}", swath, **change)
    with pytest.raises(SceneError, match=f"{what}.*RFL"):
        read_scene(path)
    if suffix == ".h5":
        # Whoever names the array wants it.
        named = read_scene(path, variable=cube, layout="y x band")
        np.testing.assert_array_equal(named.values, swath.transpose(2, 0, 1))


def test_a_large_map_is_gathered_tile_by_tile(tmp_path):
    rng = np.random.default_rng(1)
    swath = rng.uniform(0.1, 0.9, (50, 60, 3)).astype(np.float32)
    glt_y, glt_x = rng.integers(0, 51, (150, 300)), rng.integers(0, 61, (150, 300))
    scene = read_scene(write_emit(tmp_path / "emit.nc", swath, glt_x, glt_y))
    seen = (glt_x > 0) & (glt_y > 0)
    np.testing.assert_array_equal(scene.values[:, seen], swath[glt_y[seen] - 1, glt_x[seen] - 1].T)
    assert (scene.values[:, ~seen] == FILL).all()
    part = scene.isel(y=slice(70, 80), x=slice(100, 200))
    np.testing.assert_array_equal(part.values, scene.values[:, 70:80, 100:200])


def test_unmixing_leaves_bad_bands_out(tmp_path):
    values = full_scene().values.transpose(1, 2, 0).copy()
    values[:, :, 1] = FILL  # as EMIT fills the water vapour bands
    rows, columns = np.mgrid[1:7, 1:8]
    scene = read_scene(write_emit(tmp_path / "emit.nc", values, columns, rows))
    with pytest.raises(InputError):
        unmix(scene, 2, method="spa", keep_bands=True)
    result = unmix(scene, 2, method="spa")
    assert result.n_valid == 42
    assert result.endmembers.wavelength.size == 4
    assert result.crs == "EPSG:4326"


def write_masks(path, swath, **flags):
    """Write the mask product of a scene; ``flags`` are images by the names of flags."""
    names = ["Cloud flag", "Cirrus flag", "Water flag", "Aggregate Flag"]
    cube = np.zeros((*swath.shape[:2], 4), dtype=np.float32)
    for name, image in flags.items():
        cube[:, :, names.index(name.replace("_", " "))] = image
    parameters = "sensor_band_parameters"
    change = {"reflectance": None, f"{parameters}/wavelengths": None, "mask": cube}
    change[f"{parameters}/mask_bands"] = np.array(names, dtype="S20")
    return write_emit(path, swath, **change)


def test_masks_beside_a_scene(tmp_path, swath):
    path = write_emit(tmp_path / "EMIT_L2A_RFL_001_20220827.nc", swath)
    with pytest.raises(SceneError):
        read_scene(path, quality=True)
    clouds = np.zeros((2, 3))
    clouds[0, 1] = 1
    masks = tmp_path / "EMIT_L2A_MASK_001_20220827.nc"
    write_masks(masks, swath, Cloud_flag=clouds, Water_flag=np.ones((2, 3)))
    assert any("quality=True" in note for note in read_scene(path).attrs["selfdict_notes"])
    # The look-up table puts the pixel (0, 1) of the sensor to (0, 2) of the map.
    expected = valid_mask(read_scene(path)).values
    expected[0, 2] = False
    for options in ({"quality": True}, {"mask": masks}):
        np.testing.assert_array_equal(valid_mask(read_scene(path, **options)).values, expected)
        sensor = read_scene(path, ortho=False, **options)
        np.testing.assert_array_equal(valid_mask(sensor).values, clouds == 0)
    with pytest.raises(SceneError):
        read_scene(masks)
