"""Build the distributions and use them as a stranger would, in an empty environment.

Run as ``python .ci/check_wheel.py`` in an environment with the extra ``build``.
"""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# With the core alone: a fit works, and reading a scene says in one sentence what is missing.
CORE = """
import numpy as np
import selfdict

X = np.random.default_rng(0).random((200, 20))
model = selfdict.FGNSR(3, random_state=0).fit(X)
assert model.transform(X).shape == (200, 3)
try:
    selfdict.read_scene("cube.npy")
except ModuleNotFoundError as error:
    assert str(error) == (
        "this needs xarray, which is not installed: pip install 'selfdict[io]'"
    ), error
else:
    raise AssertionError("xarray is there")
"""


def main() -> None:
    """Build, compare, install and use the distributions."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        check_contents(wheel)
        check_readme(wheel)
        check_use(Path(folder), wheel)


def build(folder: Path) -> Path:
    """Write an sdist and a wheel into ``dist`` and return the wheel.

    The wheel is built from the sdist, and must have the contents of one built from the clone.
    """
    run(sys.executable, "-m", "build", "--quiet", "--no-isolation", "--outdir", ROOT / "dist", ROOT)
    run(
        sys.executable,
        "-m",
        "build",
        "--quiet",
        "--no-isolation",
        "--wheel",
        "--outdir",
        folder,
        ROOT,
    )
    (of_clone,) = folder.glob("*.whl")
    of_sdist = ROOT / "dist" / of_clone.name
    if contents(of_clone) != contents(of_sdist):
        raise SystemExit("the sdist builds another wheel than the clone")
    return of_sdist


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by their names."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def check_contents(wheel: Path) -> None:
    """Compare the wheel with the files under version control."""
    tracked = subprocess.check_output(["git", "ls-files", "src"], cwd=ROOT, text=True)
    expected = {line.removeprefix("src/") for line in tracked.splitlines()}
    found = {name for name in contents(wheel) if ".dist-info/" not in name}
    if found != expected:
        raise SystemExit(f"the wheel lacks {expected - found} and has {found - expected} besides")


def check_readme(wheel: Path) -> None:
    """Look for links and pictures in the README that would lead nowhere on a page of PyPI."""
    (name,) = (name for name in contents(wheel) if name.endswith(".dist-info/METADATA"))
    relative = re.findall(r"\]\((?!https?:)[^)]*\)", contents(wheel)[name].decode("utf-8"))
    if relative:
        raise SystemExit(f"the README of the wheel links to files: {relative}")


def check_use(folder: Path, wheel: Path) -> None:
    """Install the wheel without extras and try it, then with the command, and run its demo."""
    environment = folder / "environment"
    run(sys.executable, "-m", "venv", environment)
    binaries = environment / "bin"
    install(binaries, str(wheel))
    run(binaries / "python", "-c", CORE, cwd=folder)
    install(binaries, f"{wheel}[cli]")
    run(binaries / "selfdict", "--version", cwd=folder)
    run(binaries / "selfdict", "demo", "--output", "out", cwd=folder)
    if not (folder / "out" / "report.html").is_file():
        raise SystemExit("the demo wrote no report")


def install(binaries: Path, requirement: str) -> None:
    """Install a requirement with pip, in the versions of constraints.txt."""
    constraints = ROOT / "constraints.txt"
    options = ("--quiet", "--no-compile", "--constraint", constraints)
    run(binaries / "python", "-m", "pip", "install", *options, requirement)


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command outside the clone's own environment, and end with its error."""
    print("+", *command, flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=True)


if __name__ == "__main__":
    main()
