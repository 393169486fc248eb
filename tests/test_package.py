"""What the package says of itself: version, links and address agree in all places."""

import re
import tomllib
from pathlib import Path
from typing import Any

import tenferro as tn

ROOT = Path(__file__).parents[1]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
ADDRESS: str = PROJECT["urls"]["Repository"]
RAW = ADDRESS.replace("github.com", "raw.githubusercontent.com")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def front_page() -> str:
    """The README as the build writes it into the package."""
    text = text_of("README.md")
    hooks = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]
    for rule in hooks["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    return text.replace("$HFPR_VERSION", tn.__version__)


def test_the_version_stands_in_one_place_and_in_the_citation() -> None:
    assert "version" in PROJECT["dynamic"]
    assert f'__version__ = "{tn.__version__}"' in text_of(
        SETTINGS["tool"]["hatch"]["version"]["path"]
    )
    assert f"\nversion: {tn.__version__}\n" in text_of("CITATION.cff")
    assert f"\n## [{tn.__version__}]" in text_of("CHANGELOG.md")


def test_links_of_the_front_page_work_outside_of_the_repository() -> None:
    targets = re.findall(r'\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"', outside_code(front_page()))
    links = [first or second for first, second in targets]
    version = f"v{tn.__version__}"
    inside = [link for link in links if link.startswith((ADDRESS, RAW))]
    assert [link for link in links if not link.startswith(("https://", "#", "mailto:"))] == []
    assert inside
    for link in inside:
        start = RAW if link.startswith(RAW) else f"{ADDRESS}/blob"
        name = link.removeprefix(f"{start}/{version}/").partition("#")[0]
        assert name != link, link
        assert (ROOT / name).exists(), link


def test_only_links_of_the_front_page_are_rewritten() -> None:
    assert code(front_page()) == code(text_of("README.md"))


def code(markdown: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(r"^```.*?^```$", markdown, flags=re.DOTALL | re.MULTILINE)


def outside_code(markdown: str) -> str:
    return re.sub(r"^```.*?^```$", "", markdown, flags=re.DOTALL | re.MULTILINE)


def test_files_that_name_the_repository_name_the_same() -> None:
    names = ["pyproject.toml", "CITATION.cff", "SECURITY.md", "CONTRIBUTING.md", "README.md"]
    names += [f".github/{path}" for path in ("ISSUE_TEMPLATE/config.yml", "workflows/checks.yml")]
    addresses = {
        found
        for name in names
        for found in re.findall(
            r"https://github\.com/[^/\s\"')]*tenferro[^/\s\"')]*/[\w.-]+", text_of(name)
        )
    }
    assert addresses == {ADDRESS}


def test_every_python_that_is_promised_is_checked() -> None:
    prefix = "Programming Language :: Python :: 3."
    promised = {
        f"3.{name.removeprefix(prefix)}" for name in PROJECT["classifiers"] if prefix in name
    }
    assert promised == {"3.11", "3.12", "3.13"}
    workflow = text_of(".github/workflows/checks.yml")
    quoted = ", ".join(f'"{each}"' for each in sorted(promised))
    assert f"python: [{quoted}]" in workflow
    assert PROJECT["requires-python"] == f">={min(promised)}"
