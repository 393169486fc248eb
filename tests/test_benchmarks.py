"""Figures of benchmarks: kept, gathered in one table, compared with a saved run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "benchmarks" / "support" / "run.py"
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from support.harness import Samples, verdict

verdict("a call, over its peer", Samples(({times})).over(Samples((1.0, 1.0, 1.0))), 1.2, 1.0)
"""


def bench(script: Path, times: str, *options: str) -> subprocess.CompletedProcess[str]:
    script.write_text(SCRIPT.format(folder=str(RUN.parents[1]), times=times))
    command = [sys.executable, str(RUN), str(script), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_what_got_slower_beyond_its_spread_is_named(tmp_path: Path) -> None:
    script, saved = tmp_path / "calls.py", str(tmp_path / "run.json")
    first = bench(script, "1.0, 1.1, 1.2", "--save", saved)
    assert first.returncode == 0, first.stderr
    assert "a call, over its peer" in first.stdout
    assert "1.1 [1.05, 1.15]" in first.stdout
    within = bench(script, "1.1, 1.15, 1.2", "--compare", saved)
    assert within.returncode == 0, within.stderr
    assert "nothing got slower" in within.stdout
    beyond = bench(script, "1.4, 1.5, 1.6", "--compare", saved)
    assert beyond.returncode == 1
    assert "calls: a call, over its peer: 1.1 [1.05, 1.15] -> 1.5 [1.45, 1.55]" in beyond.stdout
    assert "1.2 MISSED" in beyond.stdout


def test_the_figures_are_written_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "run.md"
    done = bench(tmp_path / "calls.py", "1.4, 1.5, 1.6", "--write", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "nox -s bench -- calls\n" in text
    assert "Each figure is a median over rounds, with its quartiles." in text
    assert text.endswith("| a call, over its peer | 1.5 [1.45, 1.55] | 1.2 (missed) | 1 |\n")


def test_a_script_may_have_options(tmp_path: Path) -> None:
    script = tmp_path / "told.py"
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    command = [sys.executable, str(RUN), f"{script} --limit 2 'a b'"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "['--limit', '2', 'a b']" in done.stdout


def test_a_script_that_does_not_exist_is_named() -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "no_such"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "there is no script no_such.py; there are" in done.stderr


@pytest.mark.exhaustive
def test_a_checkout_is_compared_with_itself() -> None:
    """The figures are not judged: that the script runs to its end is."""
    options = (
        "--families outer --seeds 0 --rounds 1 --limit 0.002 --dtypes float64 --parts gradient"
    )
    command = [sys.executable, str(RUN.parents[1] / "checkouts.py"), *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "outer 0" in done.stdout
    assert "run: mean" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", ["value", "gradient", "hvp", "vmap"])
def test_ordinary_programs_have_the_results_of_jax(mode: str) -> None:
    """Times are not judged: results are, and what is printed of a program."""
    options = f"--programs 6 --start 7000 --size 100 --mode {mode} --seconds 0 --firsts 1 --above 0"
    command = [sys.executable, str(RUN.parents[1] / "ordinary.py"), *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    apart = re.findall(r"^(\S+) 100 .* apart ([^;]+);", done.stdout, re.MULTILINE)
    assert len(apart) == 18
    assert all(float(error) <= (2e-3 if dtype == "float32" else 1e-9) for dtype, error in apart)


@pytest.mark.exhaustive
def test_another_checkout_must_be_one(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN.parents[1] / "checkouts.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"checkouts: {tmp_path} is not a checkout of tenferro\n"


COMMANDS = {
    "agreement": "--programs 2",
    "complex_products": "--largest 16",
    "contraction_costs": "--largest 16 --fit whole_networks --random 2 --calls 1 --no-instances",
    "device_memory": "--count 1",
    "farm_workers": "--size 4 --parts 2",
    "network_costs": "--random 2 --rounds 1 --limit 0.001 --dtypes float64",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_measured_on_a_device_is_written(name: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    options = [*COMMANDS[name].split(), "--device", "cpu:0", "--json", str(file)]
    script = RUN.parents[1] / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(file.read_text())
    assert record["device"]["name"] == "cpu:0"
    assert record["results"] is not None
