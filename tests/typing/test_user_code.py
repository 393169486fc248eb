"""mypy and pyright on programs of a user: they refuse what a comment says they refuse, no more.

A line of `user/` that mypy refuses ends in `# E: ` and a part of the error. A new file there is
checked without further ado. `nox -s types` runs this, after mypy has filled its cache. Pyright, at
its standard rules, reads the programs whose comments are parts of its own errors as well.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(__file__).parent.glob("user/*.py"))
OF_BOTH = [path for path in FILES if path.stem in ("network", "solver", "training")]
EXPECTED = re.compile(r"# E: (.*)$")
ERROR = re.compile(r"(?P<file>[^:]+\.py):(?P<line>\d+): error: (?P<text>.*)")

Errors = dict[int, list[str]]


@pytest.fixture(scope="module")
def errors_of() -> dict[str, Errors]:
    """What mypy says of each file, by line, with the options and the cache of `nox -s types`."""
    pytest.importorskip("mypy")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *map(str, FILES)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    errors: dict[str, Errors] = {path.name: defaultdict(list) for path in FILES}
    for match in map(ERROR.fullmatch, ran.stdout.splitlines()):
        if match is not None and Path(match["file"]).name in errors:
            errors[Path(match["file"]).name][int(match["line"])].append(match["text"])
    return errors


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mypy_says_of_user_code_what_its_comments_say(
    path: Path, errors_of: dict[str, Errors]
) -> None:
    assert differences(path.read_text("utf-8"), errors_of[path.name]) == []


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_says_of_user_code_what_its_comments_say() -> None:
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pyright", "--outputjson"),
            *("--pythonpath", sys.executable, *map(str, OF_BOTH)),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    errors: dict[str, Errors] = {path.name: defaultdict(list) for path in OF_BOTH}
    for found in json.loads(ran.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1
            errors[Path(found["file"]).name][line].append(found["message"])
    differ = {
        path.name: differences(path.read_text("utf-8"), errors[path.name]) for path in OF_BOTH
    }
    assert differ == {path.name: [] for path in OF_BOTH}


def test_an_error_without_its_comment_and_a_comment_without_its_error_are_found() -> None:
    text = "f(1)\ng(2)  # E: too many\nh(3)  # E: too few\n"
    assert differences(text, {1: ["no f"], 2: ["too many arguments"]}) == [
        "line 1: says: no f",
        "line 3: says nothing of: too few",
    ]


def differences(text: str, errors: Errors) -> list[str]:
    """Where the errors of a file are not those that its comments announce."""
    mismatches = []
    for number, line in enumerate(text.splitlines(), start=1):
        announced, said = EXPECTED.search(line), errors.get(number, [])
        if announced is None:
            mismatches += [f"line {number}: says: {error}" for error in said]
        elif not any(announced[1] in error for error in said):
            mismatches.append(f"line {number}: says nothing of: {announced[1]}")
    return mismatches
