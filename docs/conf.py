"""Sphinx settings."""

import selfdict

project = "selfdict"
author = "The selfdict developers"
copyright = "2026, the selfdict developers"
version = release = selfdict.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples"]
autosummary_generate = True
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
}

html_theme = "pydata_sphinx_theme"
html_title = "selfdict"
html_theme_options = {"show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}
