"""The Python environment with the ``selfdict`` command, apart from QGIS's own Python."""

import os
import shutil
import sys
from pathlib import Path

from selfdict_qgis.command import CommandError, run

OLDEST_PYTHON = (3, 11)
# The wheel that comes with the plugin. A plugin that runs from a clone has none.
_WHEELS = sorted(Path(__file__).parent.glob("selfdict-*.whl"))


def find_command(setting, folder):
    """Return the words that start the command: the one that a setting names, else our own."""
    if setting:
        if not Path(setting).is_file():
            raise CommandError(
                f"The setting of the selfdict command names {setting}, which is not a file."
            )
        return [setting]
    python = _python_of(folder)
    if not python.is_file():
        raise CommandError(
            "There is no selfdict command yet. Run the algorithm “Set up” of selfdict, or name an "
            "installed command in Settings > Options > Processing > Providers > selfdict."
        )
    return [str(python), "-m", "selfdict"]


def make_environment(folder, python, feedback):
    """Make the environment anew in ``folder``; on an error or cancel, the old one stays."""
    check_python(python, feedback)
    new = folder.with_name(folder.name + "-new")
    shutil.rmtree(new, ignore_errors=True)
    package = "selfdict[cli]"
    if _WHEELS:
        package = f"{_WHEELS[-1]}[cli]"
    pip = [str(_python_of(new)), "-m", "pip"]
    install = [*pip, "install", "--no-input", "--progress-bar", "off", package]
    try:
        feedback.setProgressText("Making an environment")
        run([str(python), "-m", "venv", str(new)], feedback)
        run([*install, "--disable-pip-version-check"], feedback, show=feedback.setProgressText)
        run([str(_python_of(new)), "-m", "selfdict", "--version"], feedback)
        shutil.rmtree(folder, ignore_errors=True)
        # An environment may move as long as the scripts in it are not used.
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def default_python():
    """Return the Python that QGIS runs, which is not always ``sys.executable``."""
    prefix = Path(sys.base_exec_prefix)
    candidates = [prefix / "python.exe", prefix / "bin" / "python3"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    return Path(shutil.which("python3") or sys.executable)


def check_python(python, feedback):
    """Refuse a Python that is too old."""
    code = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    try:
        run([str(python), "-c", code], feedback)
    except (CommandError, OSError):
        oldest = ".".join(map(str, OLDEST_PYTHON))
        raise CommandError(
            f"{python} is not Python {oldest} or later. Name one that is (Python to use)."
        ) from None


def _python_of(folder):
    if os.name == "nt":
        return folder / "Scripts" / "python.exe"
    return folder / "bin" / "python"
