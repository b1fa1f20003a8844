"""Any HDF5 file: which array is the cube, which of its axes are what, and what is said of it."""

import h5py
import numpy as np
from checks import noted, refused
from sensor_files import UTM_33_NORTH, write_prisma, write_tanager

from selfdict.scene import crs_of, read_scene

CUBE = np.random.default_rng(0).uniform(1, 100, (4, 5, 3)).astype(np.float32)
WAVELENGTH = np.array([0.45, 0.55, 0.65])


def write(path, **nodes):
    with h5py.File(path, "w") as file:
        for name, value in nodes.items():
            file[name.replace("__", "/")] = value
    return path


def test_the_only_cube_with_wavelengths_beside_it(tmp_path):
    path = write(tmp_path / "cube.h5", data__cube=CUBE, data__Wavelength=WAVELENGTH, note=b"text")
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE.transpose(2, 0, 1))
    assert scene.name == "cube"
    assert scene.wavelength.values.tolist() == [450.0, 550.0, 650.0]
    assert "taken as y, x, band: as many bands as wavelengths" in noted(scene)
    assert "0.45 to 0.65 are taken as um" in noted(scene)


def test_axes_that_nothing_tells(tmp_path):
    # as many wavelengths as rows: they do not tell which axis is the bands
    path = write(tmp_path / "cube.h5", cube=np.ones((3, 4, 3)), wl=WAVELENGTH)
    scene = read_scene(path)
    assert scene.shape == (3, 3, 4)
    assert "taken as y, x, band, which is a guess" in noted(scene)
    path = write(tmp_path / "other.h5", cube=CUBE, wl=np.arange(7.0))
    assert "wavelength" not in read_scene(path).coords


def test_dimension_scales_name_the_axes(tmp_path):
    path = write(tmp_path / "cube.h5", a__cube=CUBE, a__columns=[1, 2, 3, 4], a__rows=range(5))
    with h5py.File(path, "r+") as file:
        file["a/bands"] = [1, 2, 3]
        for axis, name in enumerate(("columns", "rows", "bands")):
            file[f"a/{name}"].make_scale(name)
            file["a/cube"].dims[axis].attach_scale(file[f"a/{name}"])
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE.transpose(2, 1, 0))


def test_attributes_that_describe_the_cube(tmp_path):
    path = write(tmp_path / "cube.h5", cube=CUBE, fwhm=[9.0, 10.0, 11.0], bbl=[1, 0, 1], crs=0)
    with h5py.File(path, "r+") as file:
        described = {"wavelengths": WAVELENGTH * 1000, "wavelength_units": "nm"}
        described |= {"missing_value": -9999.0, "grid_mapping": "crs", "Gain_of_Camera": 3.0}
        file["cube"].attrs.update(described)
        file["crs"].attrs["crs_wkt"] = UTM_33_NORTH
    scene = read_scene(path)
    assert scene.wavelength.values.tolist() == [450.0, 550.0, 650.0]
    assert scene.attrs["_FillValue"] == -9999
    assert scene.good_band.values.tolist() == [True, False, True]
    assert scene.fwhm.values.tolist() == [9.0, 10.0, 11.0]
    assert crs_of(scene).to_epsg() == 32633
    assert "not applied: Gain_of_Camera 3.0" in noted(scene)
    with h5py.File(path, "r+") as file:
        file["cube"].attrs["scale_factor"] = [1.0, 2.0]
    refused(path)


def test_several_cubes_are_listed(tmp_path):
    path = write(tmp_path / "cube.h5", a__first=CUBE, b__second=CUBE + 1, flat=np.ones((2, 3)))
    refused(path)
    assert (read_scene(path, variable="/b/second").values > CUBE.transpose(2, 0, 1)).all()
    refused(path, variable="b/third")
    refused(path, variable="flat")
    for name in ("", "/", "a"):
        refused(path, variable=name)
    many = write(tmp_path / "many.h5", **{f"c{k:02}": CUBE for k in range(20)})
    refused(many)


def test_no_cube(tmp_path):
    path = write(
        tmp_path / "cube.h5", flat=np.ones((2, 3)), text=b"a", other=np.ones((2, 2, 2), "c8")
    )
    refused(path)
    path = write(tmp_path / "cube.nc", flat=np.ones((2, 3)))
    refused(path)


def test_arrays_of_products_as_they_are_stored(tmp_path):
    fields = "HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields"
    scene = read_scene(write_prisma(tmp_path / "prisma.he5"), variable=f"{fields}/VNIR_Cube")
    assert "scale_factor" not in scene.attrs
    assert f"{fields}/VNIR_Cube is read as a plain array" in noted(scene)
    uncertainty = np.ones((4, 5, 6))
    name = "HDFEOS/GRIDS/HYP/Data Fields/surface_reflectance_uncertainty"
    path = write_tanager(tmp_path / "tanager.h5", change={name: uncertainty})
    assert read_scene(path, variable=name, layout="band y x").shape == (4, 5, 6)


def test_what_is_no_hdf5(tmp_path):
    path = tmp_path / "cube.hdf"
    path.write_bytes(b"\x0e\x03\x13\x01" + bytes(100))
    refused(path)
