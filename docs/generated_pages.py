"""Writes the pages that are not written by hand, from `reference_pages` and `example_pages`."""

from collections.abc import Iterable
from pathlib import Path


def write(folder: Path, pages: Iterable[tuple[str, str]]) -> None:
    """Write pages by their names, and remove those that are of nothing any more."""
    texts = dict(pages)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.stem not in texts:
            old.unlink()
    for page, text in texts.items():
        path = folder / f"{page}.md"
        if not path.exists() or path.read_text("utf-8") != text:  # Sphinx reads what is new
            path.write_text(text, encoding="utf-8")
