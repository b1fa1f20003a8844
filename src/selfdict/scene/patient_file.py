"""A file that HDF5 can be written to even if the disk is full."""

import io
import os
from pathlib import Path
from typing import Any


class PatientFile(io.RawIOBase):
    """A file that never fails while HDF5 writes to it; ``error`` is the first failure, or None.

    HDF5 cannot close a file that it cannot write: it tries again when the process ends, and ends it
    by a segmentation fault. Here everything after a failure is dropped, and the caller, who asks
    for ``error``, removes the file.

    Parameters
    ----------
    path : pathlib.Path
        The file to make.

    Examples
    --------
    >>> import tempfile
    >>> from selfdict.scene.patient_file import PatientFile
    >>> with PatientFile(Path(tempfile.mkdtemp()) / "numbers") as file:
    ...     n_bytes = file.write(b"123")
    >>> n_bytes, file.error
    (3, None)
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.error: OSError | None = None
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        self._position = 0

    def __getstate__(self) -> None:
        """Refuse to be pickled: a copy would close the file of this object."""
        raise TypeError("an open file cannot be pickled")

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def readable(self) -> bool:
        """HDF5 reads what it has written."""
        return True

    def writable(self) -> bool:
        """It is made to be written."""
        return True

    def seekable(self) -> bool:
        """HDF5 writes in any order."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, which may lie beyond the end."""
        start = 0
        if whence == os.SEEK_CUR:
            start = self._position
        elif whence == os.SEEK_END:
            start = os.fstat(self._descriptor).st_size
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, with zeros where nothing has been written."""
        data = os.pread(self._descriptor, len(buffer), self._position)
        buffer[: len(data)] = data
        buffer[len(data) :] = bytes(len(buffer) - len(data))
        self._position += len(buffer)
        return len(buffer)

    def write(self, data: Any) -> int:
        """Write all bytes, or remember why not."""
        rest = memoryview(data).cast("B")
        n_bytes = len(rest)
        position = self._position
        self._position += n_bytes
        while self.error is None and rest:
            try:
                n_written = os.pwrite(self._descriptor, rest, position)
            except OSError as error:
                self.error = error
                break
            rest = rest[n_written:]
            position += n_written
        return n_bytes

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend the file, or remember why not."""
        if size is None:
            size = self._position
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            if self.error is None:
                self.error = error
        return size
