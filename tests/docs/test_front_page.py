"""The README and the front of the docs: what they say is what the rest of the repository says."""

import argparse
import re
import runpy
from pathlib import Path
from typing import Any

import jax
import pytest

import tenferro as tn
from tenferro.cli.main import parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
MEASUREMENTS = (ROOT / "docs/measurements.md").read_text("utf-8")
ORDINARY = (ROOT / "docs/ordinary_programs.md").read_text("utf-8")
GROWTH = runpy.run_path(str(ROOT / "docs/pictures/growth.py"))
PICTURE = (ROOT / "docs/pictures/growth.svg").read_text("utf-8")


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def figures() -> list[str]:
    """The rows of the README's table of figures."""
    table = README.partition("## Figures\n")[2].partition("\n## ")[0]
    return re.findall(r"^\|.*\|$", table, re.MULTILINE)[2:]


def means(dtype: str) -> str:
    """The geometric mean of run time of ordinary programs, of arrays on the device."""
    found = re.search(
        rf"^\| {dtype} \(\d+\): run, arrays on the device \| ([\d.]+) \|", ORDINARY, re.M
    )
    assert found is not None
    return found[1]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 130


def test_two_commands_set_everything_up() -> None:
    commands = README.partition("```bash\n")[2].partition("\n```")[0].splitlines()
    assert len(commands) == 2
    assert commands[0].endswith("tenferro demo")
    assert commands[1].endswith("nox -s tests")
    assert commands[0] in (ROOT / "docs/index.md").read_text("utf-8")


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md"])
def test_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_figures_of_the_readme_are_measurements() -> None:
    assert len(figures()) == 10
    assert [row for row in figures() if row not in MEASUREMENTS] == []


def test_ordinary_programs_have_the_figures_of_their_page() -> None:
    (row,) = (each for each in figures() if "ordinary array programs" in each)
    assert "; ".join(map(means, ("float32", "float64", "complex128"))) in row
    (programs,) = re.findall(r"\b(\d+) programs, drawn", ORDINARY)
    assert f"of {programs} ordinary" in row


def test_the_picture_has_the_sizes_of_programs() -> None:
    last = [sizes[-1] for sizes in GROWTH["ours"]().values()]
    assert [size for size in last if f">{spaced(size)}</text>" not in PICTURE] == []
    assert f"up to {last[0]}, {last[1]} and {last[2]} instructions" in README
    assert f"nodes | {last[0]} |" in figures()[0]


@pytest.mark.exhaustive  # JAX traces for seconds; our sizes are compared above
@pytest.mark.skipif(jax.__version__ != "0.10.2", reason="the picture counts in this version")
def test_the_picture_is_what_its_script_draws() -> None:
    ours, theirs = GROWTH["ours"](), GROWTH["theirs"]()
    assert GROWTH["picture"](ours, theirs) == PICTURE
    last = [spaced(sizes[-1]) for sizes in theirs.values()]
    text = " ".join(README.split())
    assert f"exponentially, up to {last[0]}, {last[1]} and {last[2]} equations" in text
    assert f"| {last[0]} |" in figures()[0]


def test_the_status_counts_random_functions() -> None:
    page = (ROOT / "docs/random.md").read_text("utf-8")
    names = re.findall(
        r"^\| (?:bits.*|continuous|by rejection|vectors.*) \| (.*) \|$", page, re.MULTILINE
    )
    drawn = re.findall(r"`(\w+)`", " ".join(names))
    assert [name for name in drawn if not hasattr(tn.random, name)] == []
    status = (ROOT / "docs/status.md").read_text("utf-8")
    assert f"{len(drawn)} distributions and choices" in status


def test_the_page_of_the_command_line_has_every_command_and_option() -> None:
    page = (ROOT / "docs/command_line.md").read_text("utf-8")
    commands = subcommands(parser())
    assert sorted(set(re.findall(r"^\| `tenferro (\w+)", page, re.MULTILINE))) == sorted(commands)
    options = [action.option_strings for each in commands.values() for action in each._actions]
    missing = [names for names in options if names and not any(name in page for name in names)]
    assert missing == [], "docs/command_line.md does not have these options"


def subcommands(top: argparse.ArgumentParser) -> dict[str, Any]:
    (action,) = (each for each in top._actions if isinstance(each, argparse._SubParsersAction))
    return dict(action.choices)
