"""Libraries whose spectra have text files of their own, read one by one or as a folder."""

from itertools import islice
from pathlib import Path

from selfdict.files.errors import SceneError
from selfdict.files.libraries import ecostress, usgs
from selfdict.files.libraries.record import Record, StoredLibrary, gather_records
from selfdict.files.libraries.text import read_start
from selfdict.files.plain_files import is_plain_file

# Far more than the libraries hold: USGS 2,500 files and 100 MB, ECOSTRESS 3,500 and 150 MB.
_MAX_FILES = 50_000
_MAX_BYTES = 2**30


def read_text(path: Path) -> StoredLibrary:
    """Read one spectrum as a library."""
    record = _read_record(path, read_start(path), usgs.Tables())
    return gather_records([record], path, path.stat().st_size)


def read_folder(path: Path) -> StoredLibrary:
    """Read all spectra in a folder and its subfolders, in the order of their names.

    Files of other kinds are ignored. Spectra that cannot be read are left out, and a note of the
    library says how many.
    """
    spectra = _spectra(path)
    held = sum(file.stat().st_size for file, _ in spectra)
    if held > _MAX_BYTES:
        raise SceneError(path, f"holds {held} bytes of spectra, at most {_MAX_BYTES} are read")
    tables = usgs.Tables()
    records = []
    failures = []
    for file, start in spectra:
        try:
            records.append(_read_record(file, start, tables))
        except SceneError as error:
            # It names the file: the spectrum, or its wavelengths.
            failures.append(str(error))
    if not records:
        raise SceneError(path, f"holds no spectrum that can be read; the first is {failures[0]}")
    library = gather_records(records, path, held)
    if failures:
        library.notes.append(
            f"{len(failures)} of {len(spectra)} spectra are left out; the first is {failures[0]}"
        )
    return library


def _spectra(path: Path) -> list[tuple[Path, str]]:
    """Return the files of spectra in a folder, each with its first characters."""
    files = sorted(islice(path.rglob("*.txt"), _MAX_FILES + 1))
    if len(files) > _MAX_FILES:
        raise SceneError(path, f"holds more than {_MAX_FILES} text files")
    spectra = []
    samplings = set()
    for file in files:
        # The USGS library keeps the uncertainties of its spectra in a folder of this name.
        if "errorbars" in file.relative_to(path).parts or not is_plain_file(file):
            continue
        start = read_start(file)
        if usgs.recognises(start):
            if usgs.is_wavelengths(start):
                samplings.add(file.parent.relative_to(path))
            if usgs.is_spectrum(start):
                spectra.append((file, start))
        elif ecostress.recognises(start):
            spectra.append((file, start))
    if len(samplings) > 1:
        # Each has all spectra of the library, convolved to one sensor.
        names = ", ".join(sorted(str(name) for name in samplings))
        raise SceneError(path, f"holds the library several times: name one folder of {names}")
    if not spectra:
        raise SceneError(path, "holds no text file of the USGS, ECOSTRESS or ASTER libraries")
    return spectra


def _read_record(path: Path, start: str, tables: usgs.Tables) -> Record:
    if usgs.recognises(start):
        if not usgs.is_spectrum(start):
            raise SceneError(path, "is no spectrum: it holds wavelengths or widths of a sensor")
        return usgs.read_record(path, tables)
    if ecostress.recognises(start):
        return ecostress.read_record(path)
    raise SceneError(
        path,
        "is no spectrum: its first line is neither that of the USGS library "
        "('splib07a Record=…') nor that of ECOSTRESS and ASTER ('Name: …')",
    )
