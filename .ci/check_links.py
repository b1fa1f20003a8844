"""Check the links of the built documentation: ``python .ci/check_links.py docs/_build/html``.

A link inside must lead to a file that is there, and to an element of it. Links to other sites are
counted and not followed, since CI may have no network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The targets and the links of a page.

    Attributes
    ----------
    names : set of str
        What a link to this page may have behind its ``#``.
    links : list of str
        The links of the page, and the addresses of what it loads.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the names and the links of an element."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.names.add(value)
            elif name in ("href", "src"):
                self.links.append(value)


def main(folder: Path) -> None:
    """Check all pages of a folder; exit with a line for each link that leads nowhere."""
    # What the theme ships in _static are templates, not pages.
    paths = [path for path in folder.resolve().rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path) for path in sorted(paths)}
    n_inside = 0
    n_outside = 0
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                n_outside += 1
                continue
            n_inside += 1
            if not leads_somewhere(path, unquote(parts.path), unquote(parts.fragment), pages):
                broken.append(f"{path.relative_to(folder.resolve())}: {link}")
    if n_inside == 0:
        raise SystemExit(f"there are no links in {folder}")
    if broken:
        raise SystemExit("\n".join(["links that lead nowhere:", *broken]))
    print(f"{n_inside} links inside are right, {n_outside} to other sites are not checked")


def leads_somewhere(page: Path, target: str, fragment: str, pages: dict[Path, Page]) -> bool:
    """Whether a link on a page leads to a file, and to an element of it if one is named."""
    found = page
    if target:
        found = (page.parent / target).resolve()
    if found.is_dir():
        found = found / "index.html"
    if not found.is_file():
        return False
    return not fragment or found not in pages or fragment in pages[found].names


if __name__ == "__main__":
    main(Path(sys.argv[1]))
