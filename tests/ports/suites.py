"""The tests of libraries that compute with JAX, with the library and its tests rewritten.

    python -m tests.ports.suites [LIBRARY...] [--tests FOLDER] [--out FOLDER]

The libraries are those of the extra `ports`, in the versions that it pins. `tenferro port` writes
them to a folder, where pytest runs the files of tests that `FILES` names, with the dtypes of JAX.
jaxopt is published without its tests: `--tests` is their folder in a checkout of its repository.
`failures.txt` has the tests that do not pass, with reasons. The exit code is 1 if others fail. With
`--jax` the tests run on JAX too, and those that fail there do not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from tenferro.cli import main as tenferro

FILES = {
    "optax": (
        *(f"_src/{name}_test.py" for name in ("base", "combine", "lookahead", "numerics")),
        *(f"_src/{name}_test.py" for name in ("transform", "update", "linear_algebra")),
        *("losses", "projections", "schedules", "transforms", "tree_utils"),
    ),
    "jaxopt": (
        *("gradient_descent_test.py", "lbfgs_test.py", "bfgs_test.py", "loss_test.py"),
        *("projection_test.py", "prox_test.py", "tree_util_test.py", "linear_solve_test.py"),
        *("loop_test.py", "implicit_diff_test.py", "bisection_test.py", "cond_test.py"),
    ),
}
"""Files and folders of tests; those of optax lie in the package."""
DTYPES = {"TENFERRO_PROMOTION": "jax", "TENFERRO_DEFAULT_FLOAT": "float32", "TENFERRO_QUIET": "1"}
LIMIT = 1500


def sources(library: str, tests: Path | None) -> tuple[Path, Path]:
    """The folders of a library and of its tests."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{library} is not installed: pip install -e '.[ports]'")
    package = Path(spec.origin).parent
    if library == "jaxopt" and tests is None:
        raise SystemExit(f"{library} is published without its tests: --tests FOLDER")
    return package, tests or package


def rewritten(package: Path, tests: Path, out: Path) -> Path:
    """Rewrite a library, and its tests if they lie elsewhere; where those are."""
    tenferro(["port", str(package), "-o", str(out / package.name)])
    if tests == package:
        return out / package.name
    tenferro(["port", str(tests), "-o", str(out / "tests"), "--promotion", "numpy"])
    return out / "tests"


def outcomes(files: list[str], out: Path, settings: Mapping[str, str] = DTYPES) -> dict[str, str]:
    """For each test that pytest ran `passed`, or the first line of why it failed."""
    report = out / "report.xml"
    search_path = os.pathsep.join(filter(None, [str(out), os.environ.get("PYTHONPATH")]))
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rN"),
            *("--continue-on-collection-errors", f"--junitxml={report}", *files),
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("libraries", nargs="*", default=["optax"], choices=list(FILES))
    parser.add_argument("--tests", type=Path, help="those of jaxopt, in a checkout")
    parser.add_argument("--jax", action="store_true", help="leave out what fails on JAX too")
    parser.add_argument("--out", type=Path, help="where to write; a new folder by default")
    options = parser.parse_args()
    reasons, wrong = expected(), False
    for library in options.libraries:
        out = options.out or Path(tempfile.mkdtemp(prefix=f"{library}-"))
        out.mkdir(parents=True, exist_ok=True)
        package, tests = sources(library, options.tests)
        here = rewritten(package, tests, out)
        found = outcomes([str(here / name) for name in FILES[library]], out)
        if options.jax:
            files = [str(tests.resolve() / name) for name in FILES[library]]
            of_jax = outcomes(files, Path(tempfile.mkdtemp(prefix=f"{library}-on-jax-")), {})
            passed_there = {without_folder(name) for name in of_jax if of_jax[name] == "passed"}
            found = {name: found[name] for name in found if without_folder(name) in passed_there}
        failed = {name: why for name, why in found.items() if why != "passed"}
        listed = {name for name in failed if any(fnmatchcase(name, pattern) for pattern in reasons)}
        for name in sorted(failed.keys() - listed):
            print(f"{library}: {name}: {failed[name]}")
        passed = len(found) - len(failed)
        share = 100 * passed / max(len(found), 1)
        print(f"{library}: {passed} of {len(found)} pass, {share:.1f} %; {len(listed)} are listed")
        wrong |= bool(failed.keys() - listed) or not found
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
