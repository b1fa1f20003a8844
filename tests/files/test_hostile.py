"""Files that mean harm: one line and exit code 2, in little memory and time."""

import resource

import pytest
from checks import run
from click.testing import CliRunner
from hostile import (
    EITHER,
    REFUSED,
    a_cube_of_exabytes,
    a_damaged_kind_of_lists,
    a_pipe,
    an_array_of_numpy_that_lies,
)

from selfdict.cli.app import app


def answer(path):
    """Return the exit code of the command, and what it prints to standard error."""
    result = CliRunner().invoke(app, ["info", str(path)])
    return result.exit_code, result.stderr


def used():
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.timeout(120)
@pytest.mark.parametrize("make", REFUSED + EITHER, ids=lambda make: make.__name__)
def test_one_line_and_exit_code_2(tmp_path, make):
    path = make(tmp_path)
    before = used()
    code, printed = answer(path)
    if make in EITHER and code == 0:
        assert printed == ""
        return
    assert code == 2, printed
    (line,) = printed.splitlines()
    assert line.startswith("error: ")
    assert used() - before < 300


def test_nothing_is_printed_and_no_hook_is_changed(tmp_path):
    code = """
import sys, warnings
hooks = sys.excepthook, sys.unraisablehook, list(warnings.filters)
from selfdict.scene import SceneError, read_scene, valid_mask
filters = list(warnings.filters)
for path in sys.argv[1:]:
    try:
        valid_mask(read_scene(path))
    except SceneError:
        print("refused")
assert (sys.excepthook, sys.unraisablehook) == hooks[:2]
assert list(warnings.filters) == filters
"""
    # A pipe, false sizes, a library that raises and one that crashes: refused when they are opened.
    makers = (a_pipe, a_cube_of_exabytes, an_array_of_numpy_that_lies, a_damaged_kind_of_lists)
    paths = []
    for make in makers:
        (tmp_path / make.__name__).mkdir()
        paths.append(make(tmp_path / make.__name__))
    printed, errors = run(code, *paths)
    assert errors == ""
    assert printed.split() == ["refused"] * len(paths)
