"""Sphinx configuration: `nox -s docs` builds the pages, warnings are errors.

What the pages show is executed. The block ```` ```python ```` of any page, and of the README, is
run by `tests/docs/test_pages.py`: with `>>>` prompts as a doctest whose printed output must be the
one on the page (`...` stands for any text), without prompts as plain code. The blocks of a page
share their names from top to bottom. Text that is not to be run is fenced as ```` ```text ````,
a shell command as ```` ```bash ````, and longer code is a `{literalinclude}` of a tested file.

The reference is generated from the docstrings: every package has a page with what its `__all__`
names, every module beside the packages one with what it defines. A class that several packages
export is described on the first of their pages.
"""

import importlib
import pkgutil
import re
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

import tenferro
from tenferro.ir import typing

project = "tenferro"
author = "the tenferro developers"
copyright = author
version = release = version_of("tenferro")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]

# A class has one target for each front door it is imported from; any of them will do.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"tenferro {release}"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_type_aliases = {  # shown by name
    name: name for name in typing.__all__ if not isinstance(getattr(typing, name), type)
}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # which Sphinx shows of `alias | None`

NAVIGATION: dict[int, str] = {}
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


def write_reference(app: Sphinx) -> None:
    """One page per front door."""
    inner = (module.name for module in pkgutil.iter_modules(tenferro.__path__, "tenferro."))
    deeper = (
        "tenferro.nn.initializers",
        "tenferro.scipy.linalg",
        "tenferro.scipy.special",
        "tenferro.scipy.stats",
    )
    aliases = {"tenferro.lax", "tenferro.numpy"}  # `tn` has the names of NumPy; lax is JAX's
    inner_names = (name for name in inner if "._" not in name and name not in aliases)
    names = ["tenferro", *inner_names, *deeper, "tenferro_xla"]
    described: dict[type, str] = {}
    pages = {f"{name}.md": page_of(name, described) for name in names}
    directory = Path(app.srcdir, "reference", "generated")
    directory.mkdir(exist_ok=True)
    for old in directory.iterdir():
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (directory / name).write_text(text, encoding="utf-8")


def page_of(name: str, described: dict[type, str], page: str | None = None) -> str:
    """The page of a package, or its part of `page`; a class described before is only named.

    A package without names of its own has those of its modules.
    """
    module = importlib.import_module(name)
    if not hasattr(module, "__all__") and hasattr(module, "__path__"):
        inner = [each.name for each in pkgutil.iter_modules(module.__path__, f"{name}.")]
        parts = [page_of(each, described, page or name).replace("# ", "## ", 1) for each in inner]
        return "\n".join([f"# {name}\n\n{module.__doc__}\n", *parts])
    public = {each: getattr(module, each) for each in getattr(module, "__all__", ())}
    classes = {each: value for each, value in public.items() if isinstance(value, type)}
    numpys = {each for each, value in classes.items() if value.__module__ == "numpy"}
    elsewhere = {each: described[value] for each, value in classes.items() if value in described}
    described.update((value, page or name) for value in classes.values() if value not in described)
    also = "".join(f"* `{each}`: see [{home}]({home}.md)\n" for each, home in elsewhere.items())
    also += "".join(f"* `{each}`: that of NumPy\n" for each in sorted(numpys - elsewhere.keys()))
    return (
        f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n"
        f"   :exclude-members: {', '.join(['__version__', *elsewhere, *sorted(numpys)])}\n```\n"
        + f"\nAlso here:\n\n{also}"
        * bool(also)
    )


def declared_in(app: Sphinx, module: str | None, attribute: str | None) -> str | None:
    """The module that declares a function, to which its link to the source leads."""
    if module is None or attribute is None:
        return None
    function = getattr(importlib.import_module(module), attribute, None)
    return getattr(function, "__globals__", {}).get("__name__")


def skip_described_fields(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out the fields of named tuples, which the section Attributes describes."""
    return True if isinstance(obj, FIELD) else None


def draw_navigation_once(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Pages of source are in no toctree: those of one depth share a navigation, drawn once."""
    if page.startswith("_modules/") and "toctree" in context:
        context["toctree"] = partial(navigation, page.count("/"), context["toctree"])


def navigation(depth: int, draw: Callable[..., str], **options: object) -> str:
    """The navigation of pages of source at one depth; it takes seconds to draw."""
    if depth not in NAVIGATION:
        NAVIGATION[depth] = draw(**options)
    return NAVIGATION[depth]


def setup(app: Sphinx) -> None:
    """Write the reference, and escape docstrings before napoleon reads their sections."""
    app.connect("autodoc-skip-member", skip_described_fields)
    app.connect("viewcode-follow-imported", declared_in)
    app.connect("builder-inited", write_reference)
    app.connect("html-page-context", draw_navigation_once, priority=400)
    app.connect("autodoc-process-docstring", escape_prose, priority=400)
