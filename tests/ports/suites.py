"""The tests of optax, jaxopt and autograd, all of them, with tensors.

    python -m tests.ports.suites [LIBRARY...] [--tests FOLDER] [--jax] [--out FOLDER]

optax and jaxopt are those of the extra `ports`, in the versions that it pins. `tenferro port`
writes them to a folder, where pytest runs their tests, with the dtypes of JAX. The tests of
autograd run as they are: `autograd_names.py` has its names, by tenferro. jaxopt and autograd are
published without their tests: `--tests` is their folder in a checkout of the repository.
`failures.txt` has the tests that do not pass, with reasons. The exit code is 1 if others fail. With
`--jax` the tests run on JAX too, and those that fail there do not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from tenferro.cli import main as tenferro

LIBRARIES = ("optax", "jaxopt", "autograd")
DTYPES = {"TENFERRO_PROMOTION": "jax", "TENFERRO_DEFAULT_FLOAT": "float32", "TENFERRO_QUIET": "1"}
AS_SCRIPTS = ("-o", "python_files=*_test.py")
"""Options by which pytest finds files that Google's libraries call `name_test.py`."""
OF_AUTOGRAD = ("-p", "tests.ports.autograd_names", "-W", "ignore")
LIMIT = 7200
"""Seconds for the tests of a library."""


def tests_of(library: str, folder: Path | None, out: Path) -> Path:
    """The tests of a library, rewritten if it computes with JAX; the library lies next to them."""
    if folder is None and library != "optax":
        raise SystemExit(f"{library} is published without its tests: --tests FOLDER")
    if library == "autograd":
        return Path(shutil.copytree(cast(Path, folder), out / "tests"))
    for each in {library, "optax"}:  # jaxopt calls optax
        tenferro(["port", str(installed(each)), "-o", str(out / each)])
    if folder is None:
        return out / library
    tenferro(["port", str(folder), "-o", str(out / "tests"), "--promotion", "numpy"])
    return out / "tests"


def installed(library: str) -> Path:
    """The folder of a package."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{library} is not installed: pip install -e '.[ports]'")
    return Path(spec.origin).parent


def outcomes(options: list[str], out: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """For each test that pytest ran `passed`, or the first line of why it failed."""
    report = out / "report.xml"
    here = str(Path(__file__).parents[2])
    search_path = os.pathsep.join(filter(None, [str(out), here, os.environ.get("PYTHONPATH")]))
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rN"),
            *("--continue-on-collection-errors", f"--junitxml={report}", *options),
        ],
        cwd=out,
        env={**os.environ, **settings, "PYTHONPATH": search_path},
        timeout=LIMIT,
        check=False,
    )
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        faults = [each for each in case if each.tag in ("failure", "error")]
        if faults:
            found[name] = (faults[0].get("message") or "").split("\n")[0][:200]
        elif not any(each.tag == "skipped" for each in case):
            found.setdefault(name, "passed")
    return found


def without_folder(name: str) -> str:
    """Class and name of a test, wherever its file lies."""
    return name.rpartition("_test.")[2]


def expected() -> dict[str, str]:
    """Patterns of tests that do not pass, and why."""
    lines = Path(__file__).with_name("failures.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split("#", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {pattern.strip(): reason.strip() for pattern, reason in rows}


def all_expected(library: str, found: Mapping[str, str]) -> bool:
    """Print the share that passes, and failures that are not listed; True if there are none."""
    reasons = expected()
    failed = {name: why for name, why in found.items() if why != "passed"}
    listed = {name for name in failed if any(fnmatchcase(name, pattern) for pattern in reasons)}
    for name in sorted(failed.keys() - listed):
        print(f"{library}: {name}: {failed[name]}")
    passed = len(found) - len(failed)
    share = 100 * passed / max(len(found), 1)
    print(
        f"{library}: {passed} of {len(found)} pass, {share:.1f} %; {len(listed)} are listed",
        flush=True,
    )
    return bool(found) and not failed.keys() - listed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("libraries", nargs="*", default=["optax"], choices=LIBRARIES)
    parser.add_argument("--tests", type=Path, help="those of jaxopt or autograd, in a checkout")
    parser.add_argument("--jax", action="store_true", help="leave out what fails on JAX too")
    parser.add_argument("--out", type=Path, help="where to write; a new folder by default")
    options = parser.parse_args()
    wrong = False
    for library in options.libraries:
        out = options.out or Path(tempfile.mkdtemp(prefix=f"{library}-"))
        out.mkdir(parents=True, exist_ok=True)
        tests = str(tests_of(library, options.tests, out))
        if library == "autograd":
            found = outcomes([tests, *OF_AUTOGRAD], out, {})
        else:
            found = outcomes([tests, *AS_SCRIPTS], out, DTYPES)
        if options.jax and library != "autograd":
            folder = str((options.tests or installed(library)).resolve())
            there = Path(tempfile.mkdtemp(prefix=f"{library}-on-jax-"))
            of_jax = outcomes([folder, *AS_SCRIPTS], there, {})
            passed_there = {without_folder(name) for name in of_jax if of_jax[name] == "passed"}
            found = {name: found[name] for name in found if without_folder(name) in passed_there}
        wrong |= not all_expected(library, found)
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
