"""Endmembers are named by a library, or not at all."""

import numpy as np
import pytest
from mineral_library import BANDS, mineral_library, mineral_scene

from selfdict import InputError
from selfdict.scene import build_library, identify, unmix
from selfdict.scene.library import material_of


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_five_minerals_at_30_db_are_named_and_an_absent_one_is_not(seed):
    library = mineral_library(seed=seed)
    materials = library["material"].values
    assert len(set(materials)) == 40
    rows = 3 * np.random.default_rng(seed).choice(40, 5, replace=False)
    scene = mineral_scene(library, rows, seed=seed)
    result = unmix(scene, 5, candidates=100, random_state=0, names=library)
    matches = result.identification.matches
    assert {match.material for match in matches} == set(materials[rows])
    for match in matches:
        assert match.nearest[0].material == match.material
        assert match.margin > 0.3 * match.nearest[1].angle
        assert match.nearest[1].material != match.material
    # The same endmembers, looked up where the first mineral is missing.
    absent = materials[rows[0]]
    incomplete = library.isel(spectrum=materials != absent)
    for match, other in zip(matches, identify(result.endmembers, incomplete).matches):
        expected = match.material
        if expected == absent:
            expected = None
        assert other.material == expected


@pytest.fixture(scope="module")
def library():
    return mineral_library(n_minerals=12, seed=3)


@pytest.fixture(scope="module")
def endmembers(library):
    """Three spectra of the library at the bands of a sensor, without noise."""
    scene = mineral_scene(library, [0, 4, 8], noise_db=300.0)
    spectra = build_library(scene.values[:, :3, 0].T, ["a", "b", "c"], BANDS)
    return spectra.assign_coords(fwhm=("band", scene["fwhm"].values))


def test_neither_brightness_nor_an_offset_matters(library, endmembers):
    expected = [str(library["name"].values[k]) for k in (0, 4, 8)]
    exact = endmembers.astype(np.float64)
    for spectra in (exact, 1e4 * exact, 1e300 * exact, 1e-200 * exact, 0.2 * exact + 0.1):
        matches = identify(spectra, library).matches
        assert [match.nearest[0].name for match in matches] == expected
        assert max(match.angle for match in matches) < 0.1
    # the curve has the brightness of the endmember
    for match, spectrum in zip(identify(3 * exact, library).matches, exact.values):
        np.testing.assert_allclose(match.curve, 3 * spectrum, rtol=1e-3)


def test_samples_of_one_material_do_not_compete(library, endmembers):
    materials = library["material"].values
    nearest = identify(endmembers, library).matches[0].nearest
    assert len({candidate.material for candidate in nearest}) == 3
    angles = [candidate.angle for candidate in nearest]
    assert angles == sorted(angles)
    # If each sample were a material of its own, another sample would be too near.
    apart = library.assign_coords(material=library["name"])
    assert identify(endmembers, library).matches[0].material == materials[0]
    assert identify(endmembers, apart).matches[0].nearest[1].name.startswith(materials[0])


def test_two_materials_that_are_alike_do_not_decide(library, endmembers):
    own = library.values[1]
    both = build_library([own, 1.1 * own + 0.01], ["Twin", "Other"], library["wavelength"].values)
    match = identify(endmembers.isel(spectrum=[0]), both).matches[0]
    assert match.angle < 20
    assert match.material is None
    # nor does a spectrum without features
    match = identify(endmembers.isel(spectrum=[0]) * 0 + 0.5, library).matches[0]
    assert match.angle > 20
    assert match.material is None


def test_a_library_of_one_material_decides_by_the_angle_alone(library, endmembers):
    one = library.isel(spectrum=[0, 1, 2])
    first, second, _ = identify(endmembers, one).matches
    assert first.material == library["material"].values[0]
    assert first.margin == np.inf
    assert second.material is None


def test_what_is_left_out_is_said(library, endmembers):
    short = library.isel(band=library["wavelength"].values < 2000)
    found = identify(endmembers, short)
    assert found.bands.sum() == np.sum(BANDS < 1990)
    assert found.notes[0].startswith(f"{np.sum(BANDS > 1990)} of {len(BANDS)} bands are left out")
    assert np.isnan(found.matches[0].curve[~found.bands]).all()
    # Bands without a value in an endmember are not compared.
    gap = endmembers.copy(deep=True)
    gap.values[0, 10:20] = np.nan
    found = identify(gap, library)
    assert np.flatnonzero(~found.bands).tolist() == list(range(10, 20))
    assert found.matches[0].material == library["material"].values[0]


def test_what_cannot_be_compared_is_refused(library, endmembers):
    fine = build_library(np.ones((1, 4000)), ["a"], np.linspace(400, 2400, 4000))
    for spectra, names in (
        (endmembers, library.drop_vars("wavelength")),
        (endmembers.drop_vars("wavelength"), library),
        (endmembers.isel(band=slice(0, 9)), library),
        (endmembers.assign_coords(wavelength=("band", BANDS * 10)), library),
        (fine, library),
    ):
        with pytest.raises(InputError):
            identify(spectra, names)


def test_bands_that_a_library_does_not_cover_are_not_used(library):
    scene = mineral_scene(library, [0, 4, 8])
    short = library.isel(band=library["wavelength"].values < 2000)
    result = unmix(scene, 3, library=short, candidates=50, random_state=0)
    assert result.endmembers.sizes["band"] == np.sum(BANDS < 1990)
    assert "bands are left out, which the library does not cover" in result.notes[0]
    assert sorted(result.endmembers["name"].values) == sorted(library["name"].values[[0, 4, 8]])


@pytest.mark.parametrize(
    ("name", "material"),
    [
        ("Kaolinite CM9", "Kaolinite"),
        ("Topaz Harris_Park_#17", "Topaz"),
        ("Illite IMt-1.b <2um", "Illite"),
        ("alunite1.spc Alunite GDS84 Na03", "Alunite"),
        ("dry grass", "dry grass"),
        ("quartz (2)", "quartz"),
        ("12070 soil", "12070 soil"),
        ("Material 2 (Kaolinite)", "Material 2 (Kaolinite)"),
        ("", ""),
    ],
)
def test_the_number_of_a_sample_is_no_part_of_the_material(name, material):
    assert material_of(name) == material
