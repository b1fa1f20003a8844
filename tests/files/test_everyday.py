"""Files as people have them: headers beside images, structs, wavelengths in a file of their own."""

import json

import numpy as np
import pytest
import rasterio
import spectral.io.envi as independent
from checks import noted, refused
from scipy.io import savemat
from sensor_files import envi_text, write_enmap, write_image, write_matlab_73, write_prisma

from selfdict import InputError
from selfdict.scene import SceneError, read_library, read_scene, valid_mask

WAVELENGTH = np.array([450.0, 550.0, 650.0])
CUBE = np.random.default_rng(0).integers(1, 9000, (3, 8, 9)).astype("int16")


def write_header(path, **change):
    fields = {"samples": 9, "lines": 8, "bands": 3, "data type": 2, "file type": "TIFF"}
    fields |= {"wavelength": "{0.45, 0.55, 0.65}", "reflectance scale factor": 10000} | change
    path.write_text(envi_text(fields))
    return path


@pytest.mark.parametrize("name", ["cube.hdr", "cube.tif.hdr"])
def test_a_geotiff_with_an_envi_header(tmp_path, name):
    write_image(tmp_path / "cube.tif", CUBE)
    header = write_header(tmp_path / name)
    for path in (tmp_path / "cube.tif", header):
        scene = read_scene(path)
        np.testing.assert_array_equal(scene.values, CUBE)
        assert scene.wavelength.values.tolist() == WAVELENGTH.tolist()
        assert scene.attrs["scale_factor"] == 1e-4
    write_header(tmp_path / name, bands=4, wavelength="{1, 2, 3, 4}")
    assert "wavelength" not in read_scene(tmp_path / "cube.tif").coords


def test_a_data_file_of_envi_with_any_suffix(tmp_path):
    independent.save_image(
        str(tmp_path / "cube.hdr"), CUBE.transpose(1, 2, 0), dtype="int16", ext=".refl"
    )
    (tmp_path / "cube.png").write_bytes(b"a preview")
    for name in ("cube.hdr", "cube.refl"):
        np.testing.assert_array_equal(read_scene(tmp_path / name).values, CUBE)


def test_a_library_of_envi_with_another_suffix(tmp_path):
    (tmp_path / "a.lib").write_bytes(np.arange(6.0).tobytes())
    header = {"file type": "ENVI Spectral Library", "data type": 5, "bands": 1, "lines": 2}
    header |= {"samples": 3, "spectra names": "{quartz, clay}", "reflectance scale factor": 1}
    write_header(tmp_path / "a.hdr", **header)
    for name in ("a.lib", "a.hdr"):
        library = read_library(tmp_path / name)
        assert library["name"].values.tolist() == ["quartz", "clay"]
        assert library["wavelength"].values.tolist() == WAVELENGTH.tolist()
        refused(tmp_path / name)


def test_tags_of_stac(tmp_path):
    bands = [{"name": "b", "center_wavelength": w / 1000} for w in WAVELENGTH]
    write_image(tmp_path / "cube.tif", CUBE)
    with rasterio.open(tmp_path / "cube.tif", "r+") as file:
        file.update_tags(**{"eo:bands": json.dumps(bands)})
    assert read_scene(tmp_path / "cube.tif").wavelength.values.tolist() == WAVELENGTH.tolist()


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_structs_of_matlab(tmp_path, version):
    arrays = {"data": CUBE.transpose(1, 2, 0), "wl": WAVELENGTH, "labels": np.ones((8, 9))}
    path = tmp_path / "a.mat"
    if version == "5":
        savemat(path, {"s": {"inner": arrays}, "t": "text"})
    else:
        write_matlab_73(path, {f"s/{name}": value for name, value in arrays.items()})
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.values, CUBE)
    assert scene.wavelength.values.tolist() == WAVELENGTH.tolist()


def test_of_several_arrays_that_of_the_wavelengths_is_the_cube(tmp_path):
    arrays = {"image": CUBE.transpose(1, 2, 0), "rgb": np.ones((8, 9, 4)), "lambda": WAVELENGTH}
    savemat(tmp_path / "a.mat", arrays)
    np.testing.assert_array_equal(read_scene(tmp_path / "a.mat").values, CUBE)
    del arrays["lambda"]
    savemat(tmp_path / "a.mat", arrays)
    with pytest.raises(SceneError, match=r"rgb \(8, 9, 4\)"):
        read_scene(tmp_path / "a.mat")
    np.testing.assert_array_equal(
        read_scene(tmp_path / "a.mat", wavelengths=WAVELENGTH).values, CUBE
    )


def test_wavelengths_that_are_given(tmp_path):
    np.save(tmp_path / "cube.npy", CUBE)
    (tmp_path / "lines.txt").write_text("wavelength\n0.45\n0.55\n0.65\n")
    (tmp_path / "row.csv").write_text("450, 550, 650\n")
    (tmp_path / "jpl.txt").write_text("2 0.45 0.009\n1 0.55 0.009\n0 0.65 0.009\n")
    (tmp_path / "table.csv").write_text("band;Wavelength (nm);fwhm\n1;450;9\n2;550;9\n3;650;9\n")
    write_header(tmp_path / "other.hdr")
    for given in (
        WAVELENGTH,
        "450:650",
        *(tmp_path / n for n in ("lines.txt", "row.csv", "jpl.txt", "table.csv", "other.hdr")),
    ):
        scene = read_scene(tmp_path / "cube.npy", wavelengths=given, layout="bands-first")
        assert scene.wavelength.values.tolist() == WAVELENGTH.tolist()
    # Their number tells the axis of the bands.
    assert read_scene(tmp_path / "cube.npy", wavelengths=WAVELENGTH).shape == (3, 8, 9)
    refused(tmp_path / "cube.npy", wavelengths=[1.0, 2.0], layout="bands-first")
    refused(tmp_path / "cube.npy", wavelengths=tmp_path / "missing.txt")
    (tmp_path / "table.csv").write_text("band,wavelength\n1,450\n2\n3,650\n")
    refused(tmp_path / "cube.npy", wavelengths=tmp_path / "table.csv")
    with pytest.raises(InputError):
        read_scene(tmp_path / "cube.npy", wavelengths=[np.nan])
    for given in ("400:400", "4.0.0:400", "400:1e3"):
        with pytest.raises(InputError):
            read_scene(tmp_path / "cube.npy", wavelengths=given)


def test_a_table_with_a_spectrum_in_each_row(tmp_path):
    path = tmp_path / "library.csv"
    text = "Class,name,450,550,600,650\nsoil,s1,0.1,0.2,0,0.3\nnpv,n1,0.4,0.5,0,0.6\n"
    # EMIT's own has levels of classes, no names, and 0 in water vapour. Excel writes semicolons.
    levels = text.replace("Class,name", "level_1,fname")
    excel = text.replace(",", ";").replace(".", ",")
    for written, names in (
        (text, ["s1", "n1"]),
        (levels, ["soil 1", "npv 2"]),
        (excel, ["s1", "n1"]),
    ):
        path.write_text(written)
        library = read_library(path)
        assert library["material"].values.tolist() == ["soil", "npv"]
        assert library["name"].values.tolist() == names
        assert library["wavelength"].values.tolist() == [450.0, 550.0, 600.0, 650.0]
        expected = [[0.1, 0.2, np.nan, 0.3], [0.4, 0.5, np.nan, 0.6]]
        np.testing.assert_array_equal(library.values, expected)
    path.write_text("450,0.1,0.4\n550,0.2,0.5\n")
    refused(path, read_library)


def test_error_matrices_of_prisma(tmp_path):
    fields = "HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields"
    vnir = np.zeros((4, 6, 5), np.uint8)
    vnir[2, 3, 1] = 4  # a saturated value
    vnir[3, 2, 4] = 2  # a negative one
    vnir[:, 5] = 1  # a band without values
    path = write_prisma(tmp_path / "a.he5", change={f"{fields}/VNIR_PIXEL_L2_ERR_MATRIX": vnir})
    plain = valid_mask(read_scene(path)).values
    scene = read_scene(path, quality=True)
    expected = plain.copy()
    expected[2, 1] = False
    np.testing.assert_array_equal(valid_mask(scene).values, expected)
    assert scene.good_band.values.tolist() == [False] + [True] * 7


def test_quality_layers_of_enmap(tmp_path):
    path, _ = write_enmap(tmp_path)
    refused(path, quality=True)
    clouds = np.zeros((1, 6, 5), np.uint8)
    clouds[0, 3, 2] = 1
    write_image(
        path.with_name(path.name.replace("SPECTRAL_IMAGE", "QL_QUALITY_CLOUD")), clouds, 255
    )
    plain = valid_mask(read_scene(path)).values
    expected = plain.copy()
    expected[3, 2] = False
    np.testing.assert_array_equal(valid_mask(read_scene(path, quality=True)).values, expected)
    assert "quality=True" in noted(read_scene(path))
