"""EMIT, AVIRIS, NEON, Tanager and PRISMA: what the table of docs/sensors.md does not say."""

import h5py
import numpy as np
import pytest
from checks import noted, refused
from sensor_files import (
    AVIRIS_WAVELENGTH,
    FILL,
    NEON_WAVELENGTH,
    PRISMA_FIELDS,
    PRISMA_SWIR,
    PRISMA_VNIR,
    TANAGER_GRID,
    TANAGER_WAVELENGTH,
    aviris_values,
    prisma_numbers,
    write_aviris,
    write_emit,
    write_image,
    write_neon,
    write_prisma,
    write_tanager,
)

from selfdict.scene import (
    SceneError,
    crs_of,
    read_scene,
    transform_of,
    unmix,
    valid_mask,
    write_scene,
)
from selfdict.scene.metadata import notes_of, scaling_of


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
    assert f"the values are '{name}', not reflectances" in noted(scene)
    np.testing.assert_array_equal(read_scene(path, variable=name).values, scene.values)


@pytest.mark.parametrize(
    ("cube", "names", "what"),
    [("obs", "observation_bands", "observation geometry"), ("mask", "mask_bands", "masks")],
)
def test_other_products_of_emit_are_told_apart(tmp_path, swath, cube, names, what):
    parameters = "sensor_band_parameters"
    change = {
        "reflectance": None,
        f"{parameters}/wavelengths": None,
        f"{parameters}/{names}": np.array([b"a", b"b", b"c", b"d"]),
        cube: swath,
    }
    path = write_emit(tmp_path / "emit.h5", swath, **change)
    with pytest.raises(SceneError, match=f"{what}.*RFL"):
        read_scene(path)
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


def test_masks_beside_a_scene(tmp_path, swath):
    path = write_emit(tmp_path / "EMIT_L2A_RFL_001_20220827.nc", swath)
    refused(path, quality=True)
    renamed = write_emit(tmp_path / "renamed.nc", swath)
    refused(renamed, quality=True)
    flags = np.zeros((2, 3, 4), dtype=np.float32)
    flags[0, 1, 0] = 1  # a cloud
    flags[:, :, 2] = 1  # water
    names = np.array(["Cloud flag", "Cirrus flag", "Water flag", "Aggregate Flag"], dtype="S20")
    parameters = "sensor_band_parameters"
    change = {"reflectance": None, f"{parameters}/wavelengths": None, "mask": flags}
    masks = tmp_path / "EMIT_L2A_MASK_001_20220827.nc"
    write_emit(masks, swath, **change, **{f"{parameters}/mask_bands": names})
    assert "quality=True" in noted(read_scene(path))
    # The look-up table puts the pixel (0, 1) of the sensor to (0, 2) of the map.
    expected = valid_mask(read_scene(path)).values
    expected[0, 2] = False
    for options in ({"quality": True}, {"mask": masks}):
        np.testing.assert_array_equal(valid_mask(read_scene(path, **options)).values, expected)
        sensor = read_scene(path, ortho=False, **options)
        np.testing.assert_array_equal(valid_mask(sensor).values, flags[:, :, 0] == 0)
    refused(masks)


def test_coordinates_without_a_grid_mapping(tmp_path):
    scene = read_scene(write_aviris(tmp_path / "aviris.nc", mapping=None))
    assert crs_of(scene) is None
    assert transform_of(scene).to_gdal() == (400000.0, 2.5, 0.0, 4100000.0, 0.0, -2.5)
    assert "taken as pixel centres" in noted(scene)


def test_the_transform_of_aviris_comes_before_its_coordinates(tmp_path):
    path = write_aviris(tmp_path / "aviris.nc")
    with h5py.File(path, "r+") as file:
        file["easting"][...] -= 1.25  # the edges of the pixels
    assert transform_of(read_scene(path)).c == 400000.0


def test_the_cube_may_be_named(tmp_path):
    path = write_aviris(tmp_path / "aviris.nc")
    named = read_scene(path, variable="reflectance/reflectance")
    assert crs_of(named).to_epsg() == 32633
    refused(path, variable="reflectance/radiance")


SPECTRAL = "SERC/Reflectance/Metadata/Spectral_Data"
COORDINATES = "SERC/Reflectance/Metadata/Coordinate_System"


def test_what_may_be_missing(tmp_path):
    change = dict.fromkeys(
        [f"{COORDINATES}/Map_Info", f"{COORDINATES}/EPSG Code", f"{SPECTRAL}/FWHM"]
    )
    path = write_neon(tmp_path / "neon.h5", change=change, windows=False)
    scene = read_scene(path)
    assert crs_of(scene) is None
    assert transform_of(scene) is None
    assert not {"fwhm", "good_band"} & set(scene.coords)
    assert "no Map_Info" in noted(scene)
    assert "marks no bands as bad" in noted(scene)


def test_crs_of_the_map_information(tmp_path):
    scene = read_scene(write_neon(tmp_path / "neon.h5", change={f"{COORDINATES}/EPSG Code": None}))
    assert crs_of(scene).to_epsg() == 32618


FIELDS = f"{TANAGER_GRID}/Data Fields"


def test_radiance(tmp_path):
    path = write_tanager(tmp_path / "tanager.h5", name="toa_radiance", good_wavelengths=None)
    scene = read_scene(path)
    assert scene.name == "toa_radiance"
    assert "good_band" not in scene.coords
    assert "cloud masks of the file are not used" in noted(scene)
    assert "radiances at the top of the atmosphere" in noted(scene)


def test_reflectance_comes_first(tmp_path):
    radiance = np.full((4, 5, 6), 7.0)
    path = write_tanager(tmp_path / "tanager.h5", change={f"{FIELDS}/toa_radiance": radiance})
    scene = read_scene(path)
    assert scene.name == "surface_reflectance"
    assert "reads another array" in noted(scene)
    assert (read_scene(path, variable=f"{FIELDS}/toa_radiance").values == 7).all()
    named = read_scene(path, variable=f"{FIELDS}/surface_reflectance")
    assert crs_of(named).to_epsg() == 32613


OVERLAP = {"vnir": [950, 970], "swir": [940, 960], "both": [940, 950, 960, 970]}


@pytest.mark.parametrize("overlap", OVERLAP)
def test_the_detector_that_is_kept(tmp_path, overlap):
    path = write_prisma(tmp_path / "prisma.he5")
    wavelength = [400, 500, 700, *OVERLAP[overlap], 1000, 1500, 2490]
    both = read_scene(path, overlap="both")
    scene = read_scene(path, overlap=overlap)
    assert scene.wavelength.values.tolist() == wavelength
    kept = both.isel(band=np.isin(both.wavelength, wavelength))
    np.testing.assert_array_equal(scene.values, kept.values)
    np.testing.assert_array_equal(scaling_of(scene), scaling_of(kept))


def test_bad_bands_displace_no_good_ones(tmp_path):
    # The entry of wavelength 0, and 970 nm: VNIR then ends at 950 nm.
    flags = {"List_Cw_Vnir_Flags": np.array([0, 0, 1, 1, 1, 1])}
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", attributes=flags))
    good = scene.good_band.values
    assert scene.wavelength.values[good].tolist() == [400, 500, 700, 950, 960, 1000, 1500, 2490]
    assert scene.wavelength.values[~good].tolist() == [970]
    assert "VNIR and SWIR overlap from 940 to 950 nm" in noted(scene)


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
    assert f"taken as pixel {kind}" in noted(scene)


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
    assert note in noted(scene)


def test_crs_that_is_missing_or_unknown(tmp_path):
    scene = read_scene(write_prisma(tmp_path / "a.he5", attributes={"Epsg_Code": None}))
    assert crs_of(scene) is None
    assert "the file names no CRS (Epsg_Code)" in noted(scene)
    scene = read_scene(write_prisma(tmp_path / "b.he5", attributes={"Epsg_Code": b"999999"}))
    assert crs_of(scene) is None
    assert "the CRS 'EPSG:999999' in the file is not known" in noted(scene)


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
    assert "the file has no SWIR_Cube" in noted(scene)


def test_a_dimension_without_values_is_no_list_of_wavelengths(tmp_path):
    """NetCDF keeps a dataset of zeros for a dimension that has no variable."""
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "aviris.nc"
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("reflectance")
        for name, size in (("wavelength", 4), ("northing", 5), ("easting", 6)):
            group.createDimension(name, size)
        group.createVariable("wavelengths", "f4", ("wavelength",))[:] = AVIRIS_WAVELENGTH
        dims = ("wavelength", "northing", "easting")
        group.createVariable("reflectance", "f4", dims)[:] = aviris_values()
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.wavelength.values, AVIRIS_WAVELENGTH.astype(float))


def test_wavelengths_of_tanager_in_micrometres(tmp_path):
    micrometres = TANAGER_WAVELENGTH / 1000
    path = write_tanager(tmp_path / "tanager.h5", wavelengths=micrometres, fwhm=np.full(4, 0.005))
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelength.values, TANAGER_WAVELENGTH, rtol=1e-6)
    assert scene.fwhm.values.tolist() == [5.0] * 4
    assert "0.3765 to 2.499 are taken as um" in noted(scene)
    with h5py.File(path, "r+") as file:
        file[f"{FIELDS}/surface_reflectance"].attrs["wavelength_units"] = "um"
    assert "unit" not in noted(read_scene(path))


def test_several_sites_of_neon(tmp_path):
    path = write_neon(tmp_path / "neon.h5")
    with h5py.File(path, "r+") as file:
        file.copy("SERC", "ABBY")
        file["ABBY/Reflectance/Reflectance_Data"][...] = 7
    scene = read_scene(path)
    assert (scene.values == 7).all()
    assert "SERC/Reflectance/Reflectance_Data" in noted(scene)
    named = read_scene(path, variable="SERC/Reflectance/Reflectance_Data")
    assert named.attrs["scale_factor"] == 0.0001
    np.testing.assert_array_equal(named.wavelength.values, NEON_WAVELENGTH.astype(float))
    assert named.values.max() > 7


def test_prisma_that_is_scaled_already(tmp_path):
    cubes = [np.float32(0.25) + cube / np.float32(1e6) for cube in prisma_numbers()]
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", cubes))
    assert (scaling_of(scene)[0] == 1).all()
    assert (scaling_of(scene)[1] == 0).all()
    assert noted(scene).count("assumed to be scaled already") == 2


def test_pages_of_a_tiff(tmp_path):
    path = tmp_path / "pages.tif"
    values = np.random.default_rng(0).uniform(0.1, 0.9, (3, 5, 6)).astype(np.float32)
    write_image(path, values)
    assert notes_of(read_scene(path)) == []
    write_image(path, 2 * values, APPEND_SUBDATASET="YES")
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, values)
    assert notes_of(scene) == ["the file holds 2 images (pages), of which only the first is read"]


def test_two_data_files_of_one_header(tmp_path):
    header = tmp_path / "cube.hdr"
    header.write_text("ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n")
    (tmp_path / "cube.img").write_bytes(bytes(range(12)))
    assert notes_of(read_scene(header)) == []
    (tmp_path / "cube.dat").write_bytes(bytes(12))
    assert "cube.img, not cube.dat" in noted(read_scene(header))
    assert notes_of(read_scene(tmp_path / "cube.dat")) == []
