"""Checks the built pages: `python -m tests.docs.built FOLDER`.

All that a page refers to is there: files, and the places in them. Nothing comes from a network. The
index of the search has every public name. The pages are small.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import tenferro

MEGABYTES = 60  # of all files
KILOBYTES = 800  # of a page
LOADED = {"script": "src", "img": "src", "link": "href"}
REFERENCES = {**LOADED, "a": "href"}
SEARCHED = ["cumsum", "linalg.svd", "transpose", "jit", "Tensor", "scipy.special.gamma"]


@dataclass
class Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    ids: set[str] = field(default_factory=set)
    references: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one element."""
        found = dict(attrs)
        if place := found.get("id") or (found.get("name") if tag == "a" else None):
            self.ids.add(place)
        if tag in REFERENCES and (target := found.get(REFERENCES[tag])) is not None:
            self.references.append((tag, target))


def read(folder: Path) -> dict[Path, Page]:
    """All pages below a folder."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        page = pages[path.resolve()] = Page()
        page.feed(path.read_text("utf-8"))
    return pages


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with the pages, a line each."""
    pages = read(folder)
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        for tag, target in page.references:
            if fault := fault_of(path, tag, target, pages):
                yield f"{name}: {tag} {target}: {fault}"
        if path.stat().st_size > KILOBYTES * 1000:
            yield f"{name}: {path.stat().st_size / 1e3:.0f} kB"
    size = sum(path.stat().st_size for path in folder.rglob("*"))
    if size > MEGABYTES * 10**6:
        yield f"all files: {size / 1e6:.0f} MB"


def fault_of(path: Path, tag: str, target: str, pages: dict[Path, Page]) -> str:
    """What is wrong with a reference; empty if nothing is."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "needs a network" if tag in LOADED and parts.scheme != "data" else ""
    other = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not other.is_file():
        return "no such file"
    place = unquote(parts.fragment)
    absent = place and other in pages and place not in pages[other].ids
    return "no such place" if absent else ""


def missing_from_search(index: dict[str, Any]) -> list[str]:
    """The public names of `tenferro`, and others, that the index of the search lacks."""
    names = {
        f"{prefix}.{entry[4]}" for prefix, found in index["objects"].items() for entry in found
    }
    wanted = {f"tenferro.{name}" for name in SEARCHED}
    wanted |= {
        f"tenferro.{name}"
        for name in tenferro.__all__
        if type(getattr(tenferro, name)).__name__ == "function"
    }
    absent = sorted(wanted - names)
    return absent if any("tenferro_" in term for term in index["terms"]) else [*absent, "TENFERRO_"]


def main(folder: Path) -> int:
    """The exit status: 1 if anything is wrong."""
    found = list(faults(folder))
    text = (folder / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    found += [f"not in the search: {name}" for name in missing_from_search(index)]
    sys.stdout.writelines(f"{line}\n" for line in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
