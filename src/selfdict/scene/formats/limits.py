"""The one limit on what a file may make a reader allocate.

Every reader asks :class:`Limit` before it allocates what a header declares, or lets a library do
so. The rules are about single allocations: a block of the file (chunk, tile or strip), an array
that is loaded whole, the mask of the pixels, the coordinates of the axes.
"""

from dataclasses import dataclass
from pathlib import Path

from selfdict.scene.errors import SceneError

# A header, or the metadata of an array. Some thousand bands take less than 1 MiB.
MAX_HEADER_BYTES = 32 * 2**20
# This much is always allowed: a file of fill values may hold almost nothing.
_ALWAYS_ALLOWED = 64 * 2**20
# Above this a block must be plausible for the size of the file.
_LARGE_BLOCK = 2**30
# Bytes of values per byte in the file, if the values are measurements: at most 10 as a rule.
_PLAUSIBLE_RATIO = 32
# The same for any values: zlib reaches 1032.
_MAX_RATIO = 1100
# The same for a cube that is read block by block, and so need not fit in memory: sparse files and
# codecs for constant values reach more.
_MAX_LAZY_RATIO = 100_000


@dataclass(frozen=True)
class Limit:
    """What a file may make a reader allocate.

    Attributes
    ----------
    path : pathlib.Path
        The file, for messages.
    held : int
        Its size in bytes.
    max_bytes : int or None
        The most bytes of a single allocation; None: 64 MiB, or up to 1 GiB (or 32 times the size of
        the file, if that is more) if the file could hold that much, compressed 1100 times.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selfdict.scene.formats.limits import Limit
    >>> limit = Limit(Path("cube.tif"), held=170)
    >>> limit.allowed // 2**20
    64
    >>> limit.check(60_000 * 56_000, "a block")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    selfdict.scene.errors.SceneError: cube.tif: declares 3360000000 bytes of data for a block ...
    """

    path: Path
    held: int
    max_bytes: int | None = None

    @property
    def allowed(self) -> int:
        """The most bytes of a single allocation."""
        if self.max_bytes is not None:
            return self.max_bytes
        plausible = max(_LARGE_BLOCK, _PLAUSIBLE_RATIO * self.held)
        return max(_ALWAYS_ALLOWED, min(plausible, _MAX_RATIO * self.held))

    def check(self, declared: int, what: str) -> None:
        """Refuse a single allocation of ``declared`` bytes, before it is made."""
        if declared > self.allowed:
            raise SceneError(
                self.path,
                f"declares {declared} bytes of data for {what} but holds {self.held}; "
                f"at most {self.allowed} are allocated at once (max_bytes)",
            )

    def check_lazy_cube(
        self, shape: tuple[int, int, int], itemsize: int, block_bytes: int = 0
    ) -> None:
        """Refuse a cube (band, y, x) that is read block by block.

        Parameters
        ----------
        shape : tuple of int
            Bands, rows and columns.
        itemsize : int
            Bytes per value.
        block_bytes : int
            Bytes of one chunk, tile or strip of the file, all of which is read for any part.
        """
        # As Python integers: the product of damaged sizes may exceed 64 bits.
        n_bands, n_rows, n_columns = (int(size) for size in shape)
        total = n_bands * n_rows * n_columns * itemsize
        if self.max_bytes is None and total > max(_ALWAYS_ALLOWED, _MAX_LAZY_RATIO * self.held):
            raise SceneError(
                self.path, f"declares {total} bytes of data but holds {self.held} (max_bytes)"
            )
        self.check(block_bytes, "a block")
        # Reading block by block still takes a mask of all pixels.
        self.check(n_rows * n_columns, "a mask of its pixels")
        self.check(8 * (n_rows + n_columns), "its coordinates")
        self.check(8 * n_bands, "its bands")


def product(sizes: tuple[int, ...]) -> int:
    """Return the product of sizes as a Python integer, since that of damaged sizes may overflow.

    Examples
    --------
    >>> product((2**40, 2**40))
    1208925819614629174706176
    """
    total = 1
    for size in sizes:
        total *= int(size)
    return total


def check_header(path: Path, n_bytes: int, what: str = "a header") -> None:
    """Refuse to read a header of more than ``MAX_HEADER_BYTES``."""
    if n_bytes > MAX_HEADER_BYTES:
        raise SceneError(path, f"is too large for {what}: {n_bytes} bytes")
