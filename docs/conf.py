"""Sphinx settings."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import selfdict
from selfdict.solvers import Feature, Solver

project = "selfdict"
author = "The selfdict developers"
copyright = "2026, the selfdict developers"
version = release = selfdict.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
html_math_renderer = "mathml"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_generated", "_extensions", "examples"]
autosummary_generate = True
autodoc_typehints = "none"  # the types are in the docstrings
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "min_reported_time": 3600,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "within_subsection_order": "gallery_order.GalleryOrder",
    # The last line of a block often returns an object of matplotlib, which says nothing to readers.
    "capture_repr": ("_repr_html_",),
    "write_computation_times": False,
    "remove_config_comments": True,
}

smartquotes = False  # text such as device="cuda" is code
html_theme = "pydata_sphinx_theme"
html_title = "selfdict"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_sidebars = {"**": ["contents"]}
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_center": [],  # the pages are listed beside the text
}


def write_solver_table(app: Any) -> None:
    """Write what each solver takes, from its declaration, for the page on solvers to include."""
    solvers = Solver.registered.values()
    names = [f"{{class}}`selfdict.{solver.__name__}`" for solver in solvers]
    lines = [["", *names], ["---"] * (len(names) + 1)]
    for feature in Feature:
        lines.append(
            [str(feature), *("yes" if feature in each.takes else "no" for each in solvers)]
        )
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    page = Path(app.srcdir) / "_generated" / "solvers.md"
    page.parent.mkdir(exist_ok=True)
    # Sphinx reads a page again if a file that it includes is newer.
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Make the generated pages before any page is read."""
    app.connect("builder-inited", write_solver_table)
