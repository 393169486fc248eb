"""Sphinx configuration: `nox -s docs` builds the pages, warnings are errors.

What the pages show is executed. The block ```` ```python ```` of any page, and of the README, is
run by `tests/docs/test_pages.py`: with `>>>` prompts as a doctest whose printed output must be the
one on the page (`...` stands for any text), without prompts as plain code. The blocks of a page
share their names from top to bottom. Text that is not to be run is fenced as ```` ```text ````,
a shell command as ```` ```bash ````, and longer code is a `{literalinclude}` of a tested file.

Some pages are written when the build begins: `reference_pages` has those of the docstrings,
`example_pages` those of the examples. The pages need no network: formulas are MathML, which
browsers draw themselves.
"""

import re
import sys
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef
from sphinx.writers.html5 import HTML5Translator

from tenferro.ir import typing

sys.path.insert(0, str(Path(__file__).parent))
import example_pages
import generated_pages
import reference_pages

project = "tenferro"
author = "the tenferro developers"
copyright = author
version = release = version_of("tenferro")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# A class has one target for each front door it is imported from; any of them will do.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"tenferro {release}"
html_copy_source = False
html_math_renderer = "mathml"
html_static_path = ["static"]
html_js_files = ["names_in_search.js"]
html_css_files = ["pages.css"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_type_aliases = {  # shown by name
    name: name for name in typing.__all__ if not isinstance(getattr(typing, name), type)
}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # which Sphinx shows of `alias | None`

NAVIGATION: dict[str, str] = {}
FIELD = type(vars(namedtuple("Single", "value"))["value"])
DOCTEST = re.compile(r"^ *>>> .*(?:\n *\S.*)*", re.MULTILINE)
MARKUP = re.compile(r"(`+)([^`]+)\1|(^ *\* )|([\\|*]|_\b)", re.MULTILINE)


def escape_prose(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Docstrings are prose with `code`, not reStructuredText: `|z|` and `x_` mean themselves."""
    text, end, parts = "\n".join(lines), 0, []
    for example in DOCTEST.finditer(text):
        parts += [MARKUP.sub(escape, text[end : example.start()]), example[0]]
        end = example.end()
    lines[:] = "".join([*parts, MARKUP.sub(escape, text[end:])]).split("\n")


def escape(found: re.Match[str]) -> str:
    """A code span as a literal, a bullet as it is, any other markup as the character it is."""
    _, code, bullet, character = found.groups()
    if code is None:
        return bullet or f"\\{character}"
    joined = found.string[found.end() : found.end() + 1].isalnum()  # the plural of `name`s
    return f"``{code}``" + "\\ " * joined


def write_pages(app: Sphinx) -> None:
    """The pages that are not written by hand."""
    for pages in (reference_pages, example_pages):
        generated_pages.write(pages.FOLDER, pages.all_pages())


def link_names(app: Sphinx, page: str, text: list[str]) -> None:
    """The names in the table of functions lead to their descriptions."""
    if page == "functions":
        text[0] = reference_pages.with_links(text[0])


def skip_described_fields(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out the fields of named tuples, which the section Attributes describes."""
    return True if isinstance(obj, FIELD) else None


def draw_navigation_once(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Pages of a folder that are in no toctree share a navigation: drawing it takes long."""
    if "toctree" in context and "orphan" in app.env.metadata[page]:
        context["toctree"] = partial(navigation, page.rpartition("/")[0], context["toctree"])


def navigation(folder: str, draw: Callable[..., str], **options: object) -> str:
    """The navigation of the pages in a folder."""
    if folder not in NAVIGATION:
        NAVIGATION[folder] = draw(**options)
    return NAVIGATION[folder]


def formula(page: HTML5Translator, node: nodes.math) -> None:
    """A formula within a line."""
    page.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def displayed_formula(page: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    page.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Write pages first, and escape docstrings before napoleon reads their sections."""
    app.add_html_math_renderer("mathml", (formula, None), (displayed_formula, None))
    app.connect("autodoc-skip-member", skip_described_fields)
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_names)
    app.connect("html-page-context", draw_navigation_once, priority=400)
    app.connect("autodoc-process-docstring", escape_prose, priority=400)
