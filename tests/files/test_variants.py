"""Files as other software writes them: other axes, units and types are read rightly, or noted."""

import zipfile

import h5py
import numpy as np
import pytest
import rasterio
from sensor_files import (
    AVIRIS_WAVELENGTH,
    NEON_WAVELENGTH,
    PRISMA_FIELDS,
    TANAGER_GRID,
    TANAGER_WAVELENGTH,
    WAVELENGTH,
    aviris_values,
    prisma_numbers,
    tanager_values,
    write_aviris,
    write_desis,
    write_emit,
    write_enmap,
    write_neon,
    write_prisma,
    write_tanager,
)

from selfdict.scene import SceneError, preflight, read_scene
from selfdict.scene.metadata import notes_of, scaling_of

CUBES = {
    "aviris": "reflectance/reflectance",
    "tanager": f"{TANAGER_GRID}/Data Fields/surface_reflectance",
    "emit": "reflectance",
    "any": "cube",
}
MICROMETRES = "the file names no unit of its wavelengths: {} are taken as um"


def write(kind, path):
    """Write a small file of one kind."""
    if kind == "aviris":
        return write_aviris(path)
    if kind == "tanager":
        return write_tanager(path)
    if kind == "emit":
        return write_emit(path, np.random.default_rng(0).uniform(0.1, 0.9, (2, 3, 4)))
    with h5py.File(path, "w") as file:
        file["cube"] = np.random.default_rng(0).uniform(0.1, 0.9, (4, 20, 30))
        file["wavelength"] = [400.0, 500.0, 600.0, 700.0]
    return path


def suffix(kind):
    if kind in ("aviris", "emit"):
        return ".nc"
    return ".h5"


@pytest.fixture(params=CUBES)
def kind(request):
    return request.param


def change_cube(path, kind, **attributes):
    with h5py.File(path, "r+") as file:
        for name, value in attributes.items():
            file[CUBES[kind]].attrs[name] = value


def test_scales_of_the_cf_conventions_are_applied(tmp_path, kind):
    path = write(kind, tmp_path / f"file{suffix(kind)}")
    change_cube(path, kind, scale_factor=0.5, add_offset=0.25)
    scene = read_scene(path)
    gain, offset = scaling_of(scene)
    assert gain.tolist() == [0.5] * 4
    assert offset.tolist() == [0.25] * 4
    assert "stored values are multiplied by 0.5, then 0.25 is added" in preflight(scene).sentences


def test_scales_may_differ_from_band_to_band(tmp_path, kind):
    path = write(kind, tmp_path / f"file{suffix(kind)}")
    change_cube(path, kind, scale_factor=[1.0, 2.0, 3.0, 4.0])
    assert scaling_of(read_scene(path))[0].tolist() == [1.0, 2.0, 3.0, 4.0]
    change_cube(path, kind, scale_factor=[1.0, 2.0])
    with pytest.raises(SceneError):
        read_scene(path)


def test_attributes_that_are_not_applied_are_named(tmp_path, kind):
    path = write(kind, tmp_path / f"file{suffix(kind)}")
    change_cube(path, kind, _Unsigned="true", Scale_Factor=10000)
    # By their names: HDF5 lists attributes in the order it likes.
    (note,) = [note for note in notes_of(read_scene(path)) if "are not applied" in note]
    assert "_Unsigned" in note
    assert "Scale_Factor" in note


@pytest.mark.parametrize("kind", ["aviris", "tanager"])
def test_missing_value_declares_no_data(tmp_path, kind):
    path = write(kind, tmp_path / f"file{suffix(kind)}")
    with h5py.File(path, "r+") as file:
        del file[CUBES[kind]].attrs["_FillValue"]
    change_cube(path, kind, missing_value=-9999.0)
    assert read_scene(path).attrs["_FillValue"] == -9999


# Square in two ways, so that sizes do not tell the axes.
@pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("shape", [(4, 4, 6), (4, 6, 4), (4, 4, 4)])
def test_aviris_by_the_names_of_its_axes(tmp_path, order, shape):
    netCDF4 = pytest.importorskip("netCDF4")
    values = np.random.default_rng(0).uniform(0.1, 0.9, shape).astype(np.float32)
    names = ("wavelength", "northing", "easting")
    path = tmp_path / "aviris.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("northing", shape[1])
        file.createDimension("easting", shape[2])
        group = file.createGroup("reflectance")
        group.createDimension("wavelength", 4)
        group.createVariable("wavelength", "f4", ("wavelength",))[:] = AVIRIS_WAVELENGTH
        dims = [names[axis] for axis in order]
        group.createVariable("reflectance", "f4", dims)[:] = values.transpose(order)
    np.testing.assert_array_equal(read_scene(path).values, values)


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


def test_emit_with_other_axes_is_refused(tmp_path):
    path = write("emit", tmp_path / "emit.nc")
    with h5py.File(path, "r+") as file:
        for axis, name in enumerate(("bands", "downtrack", "crosstrack")):
            scale = file.create_dataset(name, data=np.zeros(file["reflectance"].shape[axis]))
            scale.make_scale(name)
            file["reflectance"].dims[axis].attach_scale(scale)
    with pytest.raises(SceneError):
        read_scene(path)


def test_wavelengths_of_emit_without_a_unit(tmp_path):
    path = write("emit", tmp_path / "emit.nc")
    with h5py.File(path, "r+") as file:
        listed = file["sensor_band_parameters/wavelengths"]
        listed[...] = listed[...] / 1000
        del listed.attrs["units"]
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelength.values, np.linspace(400, 2400, 4), rtol=1e-6)
    assert MICROMETRES.format("0.4 to 2.4") in notes_of(scene)


def test_wavelengths_of_tanager_in_micrometres(tmp_path):
    micrometres = TANAGER_WAVELENGTH / 1000
    path = write_tanager(tmp_path / "tanager.h5", wavelengths=micrometres, fwhm=np.full(4, 0.005))
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelength.values, TANAGER_WAVELENGTH, rtol=1e-6)
    assert scene.fwhm.values.tolist() == [5.0] * 4
    assert MICROMETRES.format("0.3765 to 2.499") in notes_of(scene)
    change_cube(path, "tanager", wavelength_units="um")
    assert not any("unit" in note for note in notes_of(read_scene(path)))


def test_several_sites_of_neon(tmp_path):
    path = write_neon(tmp_path / "neon.h5")
    with h5py.File(path, "r+") as file:
        file.copy("SERC", "ABBY")
        file["ABBY/Reflectance/Reflectance_Data"][...] = 7
    scene = read_scene(path)
    assert (scene.values == 7).all()
    assert any("SERC/Reflectance/Reflectance_Data" in note for note in notes_of(scene))
    named = read_scene(path, variable="SERC/Reflectance/Reflectance_Data")
    assert named.attrs["scale_factor"] == 0.0001
    np.testing.assert_array_equal(named.wavelength.values, NEON_WAVELENGTH.astype(float))
    assert named.values.max() > 7


def test_prisma_that_is_scaled_already(tmp_path):
    cubes = [np.float32(0.25) + cube / np.float32(1e6) for cube in prisma_numbers()]
    scene = read_scene(write_prisma(tmp_path / "prisma.he5", cubes))
    assert (scaling_of(scene)[0] == 1).all()
    assert (scaling_of(scene)[1] == 0).all()
    for name in ("VNIR_Cube", "SWIR_Cube"):
        note = f"{name} holds float32, not integers: it is taken as scaled already"
        assert note in notes_of(scene)


def test_prisma_with_bands_in_another_axis_is_refused(tmp_path):
    with h5py.File(write_prisma(tmp_path / "prisma.he5"), "r+") as file:
        cube = file[f"{PRISMA_FIELDS}/VNIR_Cube"][...].transpose(0, 2, 1)
        del file[f"{PRISMA_FIELDS}/VNIR_Cube"]
        file[f"{PRISMA_FIELDS}/VNIR_Cube"] = cube
    with pytest.raises(SceneError):
        read_scene(tmp_path / "prisma.he5")


@pytest.mark.parametrize("write_product", [write_enmap, write_desis])
def test_a_zipped_or_renamed_sidecar_is_missing(tmp_path, write_product):
    image, sidecar = write_product(tmp_path)
    with zipfile.ZipFile(sidecar.with_name(sidecar.name + ".zip"), "w") as archive:
        archive.write(sidecar, sidecar.name)
    sidecar.rename(sidecar.with_name("renamed" + sidecar.suffix))
    scene = read_scene(image)
    assert "is missing" in notes_of(scene)[0]
    sentences = preflight(scene).sentences
    assert "values are used as they are stored (int16): no scale is declared" in sentences
    assert "no wavelengths are known: bands are named by their numbers" in sentences


def test_names_in_capitals_with_endings_in_small_letters(tmp_path):
    image, sidecar = write_enmap(tmp_path)
    renamed = image.with_name(image.name.replace("SPECTRAL_IMAGE.TIF", "spectral_image.tif"))
    image.rename(renamed)
    sidecar.rename(sidecar.with_name(sidecar.name.replace("METADATA.XML", "metadata.xml")))
    assert read_scene(renamed).wavelength.values[0] == WAVELENGTH[0]


def test_pages_of_a_tiff(tmp_path):
    path = tmp_path / "pages.tif"
    values = np.random.default_rng(0).uniform(0.1, 0.9, (3, 5, 6)).astype(np.float32)
    profile = {"driver": "GTiff", "count": 3, "height": 5, "width": 6, "dtype": "float32"}
    profile |= {"crs": "EPSG:32633", "transform": rasterio.Affine(1, 0, 5, 0, -1, 9)}
    with rasterio.open(path, "w", **profile) as file:
        file.write(values)
    assert notes_of(read_scene(path)) == []
    with rasterio.open(path, "w", **profile, APPEND_SUBDATASET="YES") as file:
        file.write(2 * values)
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, values)
    assert notes_of(scene) == ["the file holds 2 images (pages), of which only the first is read"]


def test_two_data_files_of_one_header(tmp_path):
    header = tmp_path / "cube.hdr"
    header.write_text("ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 1\ninterleave = bsq\n")
    (tmp_path / "cube.img").write_bytes(bytes(range(12)))
    assert notes_of(read_scene(header)) == []
    (tmp_path / "cube.dat").write_bytes(bytes(12))
    note = "the data file is taken to be cube.img, not cube.dat"
    assert notes_of(read_scene(header)) == [note]
    assert notes_of(read_scene(tmp_path / "cube.dat")) == []


@pytest.mark.parametrize(("factor", "unit"), [(1, "nm"), (0.001, "um")])
def test_netcdf_without_a_unit_of_its_wavelengths(tmp_path, factor, unit):
    netCDF4 = pytest.importorskip("netCDF4")
    path = tmp_path / "cube.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("wavelength", 4), ("y", 5), ("x", 6)):
            file.createDimension(name, size)
        file.createVariable("wavelength", "f8", ("wavelength",))[:] = (
            factor * AVIRIS_WAVELENGTH.astype(float)
        )
        file.createVariable("cube", "f4", ("wavelength", "y", "x"))[:] = tanager_values()
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelength.values, AVIRIS_WAVELENGTH, rtol=1e-6)
    (note,) = notes_of(scene)
    assert note.endswith(f"are taken as {unit}")
