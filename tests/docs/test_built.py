"""What the check of built pages finds; `nox -s docs` runs it on the pages."""

from pathlib import Path

from tests.docs.built import faults, missing_from_search


def site(folder: Path, body: str) -> list[str]:
    (folder / "index.html").write_text(f'<p id="here">{body}</p>', "utf-8")
    (folder / "other.html").write_text('<h1 id="a-b">x</h1>', "utf-8")
    return list(faults(folder))


def test_links_to_files_and_places_that_are_there_are_right(tmp_path: Path) -> None:
    body = '<a href="#here">a</a><a href="other.html#a-b">b</a><a href="https://x.org/y">c</a>'
    assert site(tmp_path, body) == []


def test_dead_links_and_what_a_network_would_load_are_found(tmp_path: Path) -> None:
    body = (
        '<a href="gone.html">a</a><a href="other.html#gone">b</a><a href="#gone">c</a>'
        '<script src="https://x.org/y.js"></script><img src="z.svg">'
    )
    assert site(tmp_path, body) == [
        "index.html: a gone.html: no such file",
        "index.html: a other.html#gone: no such place",
        "index.html: a #gone: no such place",
        "index.html: script https://x.org/y.js: needs a network",
        "index.html: img z.svg: no such file",
    ]


def test_a_page_that_is_too_large_is_found(tmp_path: Path) -> None:
    assert site(tmp_path, "x" * 900_000) == ["index.html: 900 kB"]


def test_names_that_the_search_lacks_are_found() -> None:
    index = {"objects": {"tenferro": [[0, 1, 1, "", "cumsum"]]}, "terms": {"tensor": 0}}
    missing = missing_from_search(index)
    assert {"tenferro.jit", "tenferro.linalg.svd", "TENFERRO_"} <= set(missing)
    assert "tenferro.cumsum" not in missing
