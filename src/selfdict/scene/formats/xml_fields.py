"""Texts of an XML file by the paths of their elements, read without trusting the file."""

from pathlib import Path
from typing import Any
from xml.parsers import expat

from selfdict.scene.errors import SceneError

# Metadata of products take one or two megabytes, with some ten thousand elements on ten levels. The
# limits keep the time to parse any file to a few seconds.
_MAX_BYTES = 8 * 2**20
_MAX_ELEMENTS = 500_000
_MAX_DEPTH = 100
# The key of a place in the tree of wanted elements; no element has an empty name.
_IS_WANTED = ""


def read_fields(path: Path, wanted: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the wanted texts of an XML file.

    Nothing of the file but these texts is held. A file with a document type is refused, since only
    there entities are defined, which a few bytes can expand to gigabytes or to other files.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    wanted : set of str
        Paths of elements below the root, such as ``"specific/bandID/GainOfBand"``.

    Returns
    -------
    dict of str to list of (str, str)
        For each path the texts in the order of the file, each with the attribute ``number`` of the
        element that encloses it ("" if it has none).

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.xml"
    >>> _ = path.write_text('<root><band number="2"><gain> 0.5 </gain></band></root>')
    >>> read_fields(path, {"band/gain"})
    {'band/gain': [('2', '0.5')]}
    """
    n_bytes = path.stat().st_size
    if n_bytes > _MAX_BYTES:
        raise SceneError(path, f"is too large for the metadata of a product: {n_bytes} bytes")
    collector = _Collector(path, wanted)
    parser = expat.ParserCreate()
    # Lines of one text arrive together.
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = collector.refuse
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.text
    try:
        # All at once: a parser that is fed in pieces may read a long element again for each.
        parser.Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        raise SceneError(path, f"is not well-formed XML: {error}") from None
    return collector.found


class _Collector:
    """Receives the elements of a file while it is parsed."""

    def __init__(self, path: Path, wanted: set[str]) -> None:
        self.path = path
        self.found: dict[str, list[tuple[str, str]]] = {}
        # For each open element the wanted ones below it, None if there are none.
        self.below: list[dict[str, Any] | None] = []
        self.numbers: list[str] = []
        self.parts: list[str] | None = None  # the text of the wanted element that is open
        self.n_elements = 0
        self.tree: dict[str, Any] = {}
        for place in wanted:
            node = self.tree
            for name in place.split("/"):
                node = node.setdefault(name, {})
            node[_IS_WANTED] = place

    def refuse(self, *declaration: object) -> None:
        raise SceneError(self.path, "has a document type, which may define entities: it is refused")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.n_elements += 1
        if self.n_elements > _MAX_ELEMENTS:
            raise SceneError(self.path, f"has more than {_MAX_ELEMENTS} elements")
        if len(self.below) >= _MAX_DEPTH:
            raise SceneError(self.path, f"has elements inside each other, more than {_MAX_DEPTH}")
        if not self.below:
            node: dict[str, Any] | None = self.tree
        elif self.below[-1] is None:
            node = None
        else:
            # Without the prefix of a namespace.
            node = self.below[-1].get(name.rpartition(":")[2])
        self.below.append(node)
        self.numbers.append(attributes.get("number", ""))
        if node is not None and _IS_WANTED in node:
            self.parts = []

    def text(self, part: str) -> None:
        if self.parts is not None:
            self.parts.append(part)

    def end(self, name: str) -> None:
        node = self.below.pop()
        self.numbers.pop()
        if node is not None and _IS_WANTED in node and self.parts is not None:
            text = "".join(self.parts).strip()
            self.found.setdefault(node[_IS_WANTED], []).append((self.numbers[-1], text))
            self.parts = None
