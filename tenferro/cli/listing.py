"""Texts of fragments and programs as HTML, where each value links to the line that makes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

Address = Callable[[str, str], str | None]
"""The address of a line of a file in the page, if the page has it."""

_VALUE = re.compile(r"%\d+")
_HEADER = re.compile(r"^\s*[\w\[\]]+\(.*\) \{$")


def listing(text: str, anchor: str, address: Address) -> str:
    """The text of a fragment, graph or program.

    A value has an id where it is made, and links there where it is used. Values of a nested program
    have numbers of their own. A comment that names a line of the source links to it.

    Args:
        text: what is printed.
        anchor: the beginning of all ids.
        address: of lines of the source.
    """
    programs = [("", f"{anchor}-1")]  # the indent of each program around a line, and its ids
    count = 0
    shown = []
    for line in text.rstrip().split("\n"):
        code, mark, site = line.partition("  # ")
        indent = code[: len(code) - len(code.lstrip())]
        if _HEADER.match(code):
            count += 1
            programs.append((indent, f"{anchor}-{count}"))  # a comment may stand before the first
            makes = len(code)
        else:
            makes = code.find(" = ") if code.lstrip().startswith("%") else 0
        ids = programs[-1][1]
        shown.append(_linked(code, makes, ids) + (_site(site, address) if mark else ""))
        if code == indent + "}" and indent == programs[-1][0] and len(programs) > 1:
            programs.pop()
    return "\n".join(shown)


def difference(text: str) -> str:
    """The lines that a pass changed: those that it added and removed are marked."""
    kinds = {"+": "added", "-": "removed"}
    lines = [(kinds.get(line[:1]), escape(line)) for line in text.rstrip().split("\n")]
    return "\n".join(
        line if kind is None else f'<span class="{kind}">{line}</span>' for kind, line in lines
    )


def source_listing(text: str, anchor: str) -> str:
    """The lines of a file, with their numbers and an id each."""
    lines = text.rstrip().split("\n")
    width = len(str(len(lines)))
    return "\n".join(
        f'<span id="{anchor}{number}"><span class="site">{number:>{width}}</span>  {escape(line)}'
        "</span>"
        for number, line in enumerate(lines, 1)
    )


def _linked(code: str, makes: int, ids: str) -> str:
    """Code in which values before the position `makes` are made, and others are used."""
    parts = []
    end = 0
    for match in _VALUE.finditer(code):
        parts += [escape(code[end : match.start()]), _value(match, match.start() < makes, ids)]
        end = match.end()
    return "".join(parts) + escape(code[end:])


def _value(match: re.Match[str], is_made: bool, ids: str) -> str:
    name = f"{ids}-{match[0][1:]}"
    if is_made:
        return f'<b id="{name}" data-value="{name}">{match[0]}</b>'
    return f'<a href="#{name}" data-value="{name}">{match[0]}</a>'


def _site(site: str, address: Address) -> str:
    file, _, line = site.rpartition(":")
    where = address(file, line)
    text = escape(site)
    linked = text if where is None else f'<a href="{where}">{text}</a>'
    return f'<span class="site">  # {linked}</span>'
