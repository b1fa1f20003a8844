"""The report as one HTML file that works offline, on a phone, on paper and by keyboard."""

import base64
import hashlib
import os
from importlib import resources
from pathlib import Path

from selfdict import __version__
from selfdict._optional import optional
from selfdict.report.context import printable, template_context
from selfdict.report.data import ReportData
from selfdict.scene.staging import staged


def write_report(
    data: ReportData, path: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the report of ``data`` to ``path`` and return the path."""
    path = Path(path)
    with staged(path, overwrite=overwrite) as temporary:
        temporary.write_text(render_report(data), encoding="utf-8")
    return path


def render_report(data: ReportData) -> str:
    """Return the report as the text of one self-contained HTML page."""
    jinja2 = optional("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        # A misspelt variable is an error instead of an empty text.
        undefined=jinja2.StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = _package_text("report.js")
    # The page's security policy allows the script with this hash only: text of a scene that got
    # past the escaping would still not run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string(_package_text("report.html.j2"))
    # Only the two files of this package are marked as safe; the template escapes every other value.
    page: str = template.render(
        template_context(data),
        css=jinja2.utils.markupsafe.Markup(_package_text("report.css")),
        script=jinja2.utils.markupsafe.Markup(script),
        script_hash=f"sha256-{digest}",
        version=__version__,
    )
    return page


def _package_text(name: str) -> str:
    return resources.files("selfdict.report").joinpath(name).read_text(encoding="utf-8")
