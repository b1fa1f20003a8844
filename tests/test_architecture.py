"""Rules of the tree: imports go one way and are quick, caches may fail, docstrings are true."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from enum import Enum
from pathlib import Path

import numpydoc.docscrape
import pytest

import selfdict

SOURCE = Path(selfdict.__file__).parent
# a package imports only from those before it
ORDER = [
    "compute",
    "kernels",
    "gpu",
    "model",
    "abundances",
    "metrics",
    "peers",
    "columns",
    "solvers",
    "reductions",
    "readout",
    "methods",
    "estimators",
    "files",
    "scene",
    "report",
    "cli",
]
BESIDE = {"datasets": "scene"}
# A result is drawn by the report, which its methods import when they are called.
ON_FIRST_USE = {
    ("selfdict.scene.result", "selfdict.report.page"),
    ("selfdict.scene.result", "selfdict.report.plots"),
}
MODULES = [
    info.name
    for info in pkgutil.walk_packages([str(SOURCE)], "selfdict.")
    if not info.name.endswith("__main__")
]


def package(module):
    """Return the place in ORDER of a module's package; modules at the top come first."""
    name = module.split(".")[1]
    name = BESIDE.get(name, name)
    if name in ORDER:
        return ORDER.index(name)
    assert name.startswith("_"), f"{module} belongs to no package in ORDER"
    return -1


def imports(path):
    """Yield the modules that a file imports; the name itself where it is a module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            if node.module == "selfdict":
                yield from (f"selfdict.{alias.name}" for alias in node.names)
            else:
                yield node.module


def module_of(path):
    name = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    return "selfdict." + name.removesuffix(".__init__")


SOURCES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_from_those_before_it(path):
    here = package(module_of(path))
    for name in imports(path):
        if name.split(".")[0] != "selfdict":
            continue
        # the whole package would hide what is used, and where it lives
        assert name != "selfdict", f"{path}: import selfdict inside the package"
        if name == "selfdict.__version__" or (module_of(path), name) in ON_FIRST_USE:
            continue
        assert package(name) <= here, f"{path} imports {name}"


def test_the_order_names_every_package():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"metrics"}
    assert packages - set(BESIDE) == set(ORDER)


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_page_on_architecture_lists_the_packages_in_this_order():
    page = SOURCE.parents[1] / "docs" / "architecture.md"
    assert re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE) == ORDER


def test_import_is_light_and_silent():
    """What makes an import slow is loaded on first use only."""
    heavy = {"numba", "sklearn", "scipy", "xarray", "torch"}
    result = python(f"import sys, selfdict; print(sorted(set(sys.modules) & {heavy}))")
    assert result.stdout.strip() == "[]"
    assert result.stderr == ""


COUNTED = """
import numpy as np, selfdict
{before}
compiled = []
import numba.core.dispatcher as d
compile_ = d._FunctionCompiler.compile
def counted(self, *args, **options):
    compiled.append(self.py_func.__name__)
    return compile_(self, *args, **options)
d._FunctionCompiler.compile = counted
X = np.random.default_rng(0).random((20, 5))
{call}
print(len(compiled))
"""


def compilations(call, before="", **environment):
    """Return how many functions a process compiles for a call."""
    result = python(COUNTED.format(before=before, call=call), **environment)
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


def test_a_second_process_compiles_nothing():
    """In the cache of all tests, which holds most of it already: compiling a fit takes long."""
    fit = "selfdict.FGNSR(2, random_state=0).fit(X)"
    compilations(fit)
    assert compilations(fit) == 0


# The quickest kernel to compile.
NORMS = "from selfdict.kernels.columns import squared_norms; squared_norms(X)"


def test_no_place_for_the_cache_is_no_error():
    before = "import numba.core.caching as c; c.CacheImpl._locator_classes = []"
    assert compilations(NORMS, before) > 0


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    failures, _ = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert failures == 0


def describes_attributes(cls):
    """Whether a docstring is about what an object holds: nobody calls results, errors or enums."""
    text = numpydoc.docscrape.ClassDoc(cls)
    return issubclass(cls, Exception | Enum) or bool(text["Attributes"] and not text["Parameters"])


@pytest.mark.parametrize("name", [name for name in selfdict.__all__ if not name.startswith("_")])
def test_docstrings_name_every_parameter(name):
    thing = getattr(selfdict, name)
    if not callable(thing) or (inspect.isclass(thing) and describes_attributes(thing)):
        return
    text = (
        numpydoc.docscrape.FunctionDoc(thing)
        if inspect.isfunction(thing)
        else numpydoc.docscrape.ClassDoc(thing)
    )
    documented = [n.strip() for parameter in text["Parameters"] for n in parameter.name.split(",")]
    documented = [name.lstrip("*") for name in documented]
    actual = [n for n in inspect.signature(thing).parameters if n != "self"]
    assert sorted(documented) == sorted(actual)
    assert text["Examples"] or inspect.isclass(thing)


def test_public_names_are_all_there():
    for name in selfdict.__all__:
        assert getattr(selfdict, name) is not None
    with pytest.raises(AttributeError):
        selfdict.nonsense  # noqa: B018


def test_no_module_hides_a_function_of_its_package():
    """Names are imported on first use, and a submodule of the same name would come first."""
    from selfdict import scene

    for module in MODULES:
        importlib.import_module(module)
    assert [name for name in scene.__all__ if inspect.ismodule(getattr(scene, name))] == []


def test_no_public_name_is_untyped(tmp_path):
    """A misspelt argument is an error for mypy, and no name is Any."""
    names = [name for name in selfdict.__all__ if not name.startswith("_")]
    lines = ["import selfdict", *(f"reveal_type(selfdict.{name})" for name in names)]
    lines += ["selfdict.FGNSR(4, n_component=3)", "selfdict.working_set([[1.0]], 0.1, tolerance=3)"]
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    # The settings of the package, which do not follow imports into packages without types; with
    # them, what `make lint` has checked already is taken from its cache.
    result = subprocess.run(
        [sys.executable, "-m", "mypy", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=SOURCE.parents[1],
    )
    revealed = [line for line in result.stdout.splitlines() if "Revealed type is" in line]
    assert len(revealed) == len(names), result.stdout
    untyped = [line for line in revealed if line.endswith('"Any"')]
    assert untyped == []
    assert 'Unexpected keyword argument "n_component"' in result.stdout
    assert 'Unexpected keyword argument "tolerance"' in result.stdout
