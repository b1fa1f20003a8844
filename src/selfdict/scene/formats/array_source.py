"""The numeric arrays of a file without dims, such as ``.mat`` and ``.npz``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from selfdict._validation import Array
from selfdict.scene.formats.limits import product


@dataclass(frozen=True)
class ArraySource:
    """The numeric arrays of a file.

    Attributes
    ----------
    path : pathlib.Path
        For messages.
    shapes : mapping of str to tuple of int
        The shapes of the arrays by their names.
    load : callable
        Returns the array of a name.
    """

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    load: Callable[[str], Array]

    def number(self, name: str) -> float:
        """Return the value of an array of one number."""
        return float(self.load(name).ravel()[0])

    def is_number(self, name: str) -> bool:
        """Whether there is an array of this name that holds one number."""
        return name in self.shapes and product(self.shapes[name]) == 1
