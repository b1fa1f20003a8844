"""Build the plugin as a zip, with the wheel of the package in it.

Run as ``python qgis/build_zip.py FOLDER`` in an environment with the extra ``build``.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGIN = Path(__file__).parent / "selfdict_qgis"


def build(folder: Path) -> Path:
    """Write ``selfdict_qgis.zip`` into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "selfdict_qgis.zip"
    with tempfile.TemporaryDirectory() as temporary:
        words = ["build", "--wheel", "--no-isolation", "--outdir", temporary, str(ROOT)]
        subprocess.run([sys.executable, "-m", *words], check=True, stdout=subprocess.DEVNULL)
        files = [path for path in PLUGIN.iterdir() if path.is_file()]
        files += [ROOT / "LICENSE", *Path(temporary).glob("*.whl")]
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(files):
                archive.write(path, f"{PLUGIN.name}/{path.name}")
    return target


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
