"""JAX's own unit tests, rewritten by `tenferro port`, and a table of what came of them.

    python -m tests.ports.jax_tests FOLDER [FILE...] [--each N] [--out FOLDER] [--only REGEX] [-v]

FOLDER is `tests` of JAX's repository at the tag of the installed version; a FILE is named without
`.py`. At most N tests of one test function run (4 unless `--each` says otherwise, 1 without FILES:
then a sample runs, of 2 minutes). `jax_harness.py` says what tests keep of JAX.

A test that fails belongs to one class: `documented`, where the documentation says what differs;
`harness`, where it looks into JAX (jaxprs, traces, private classes, texts); `missing`, a name or a
keyword; `refused`, a typed error; `accepted`, where JAX raises an error; `value`, where results
differ; `crash`, any other error. `jax_failures.txt` has the class and the reason of those that are
known, by a pattern of their name and text. The exit code is 1 if others fail.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
import warnings
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

SAMPLE = (
    *("lax_numpy_reducers_test", "lax_numpy_einsum_test", "lax_numpy_setops_test", "nn_test"),
    *("lax_numpy_vectorize_test", "scipy_signal_test", "image_test", "random_test"),
)
LIMIT = 60
"""Seconds for one test."""


class TooLongError(Exception):
    """A test took too long."""


def stop(*_: object) -> None:
    raise TooLongError(f"more than {LIMIT} s")


# In the process of one file.


class Rows(unittest.TestResult):
    """Writes a line for each test: before it begins, and what came of it."""

    def __init__(self, out: Path, file: str) -> None:
        super().__init__()
        self.out, self.file = out, file
        self.error: BaseException | None = None
        self.skipped_one = False

    def write(self, **row: object) -> None:
        with self.out.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        self.error, self.skipped_one, self.begin = None, False, time.monotonic()
        self.write(begun=test.id())
        signal.alarm(LIMIT)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.error = err[1]

    addFailure = addError  # noqa: N815

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self.error = err[1] if err is not None else self.error

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self.skipped_one = True

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        signal.alarm(0)
        row: dict[str, object] = {"id": test.id(), "seconds": time.monotonic() - self.begin}
        if self.error is not None:
            row |= {"class": kind_of(self.error), "text": text_of(self.error, self.file)}
        elif self.skipped_one:
            row |= {"class": "skipped"}
        self.write(**row)


def kind_of(error: BaseException) -> str:
    """The class of a failure that nobody has looked at."""
    names = {each.__name__ for each in type(error).__mro__}
    if names & {"AbsentError", "MissingNameError"}:
        return "missing"
    if "NotRefusedError" in names:
        return "accepted"
    if "TenferroError" in names:
        return "refused"
    if isinstance(error, AssertionError):
        return "value"
    unknown = r"unexpected keyword|positional argument|multiple values for|there is no option"
    if isinstance(error, TypeError) and re.search(unknown, str(error)):
        return "missing"
    if isinstance(error, AttributeError) and re.search("Tensor|Key'|tenferro", str(error)):
        return "missing"
    return "crash"


def text_of(error: BaseException, file: str) -> str:
    """Where a test failed, and why, in one line."""
    lines = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
    place = f"{lines[0].lineno}: {lines[0].line}" if lines else ""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:400]} | {place[:160]}"


def run(path: Path, out: Path, each: int, only: str) -> None:
    """Run those tests of a file of which `out` has no line."""
    from tests.ports import jax_harness

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    sys.argv = [str(path)]
    jax_harness.install()
    module = jax_harness.load(path)
    done = {row.get("id") or row["begun"] for row in rows_in(out)}
    result = Rows(out, str(path))
    for test in jax_harness.tests_of(module, each):
        if test.id() not in done and re.search(only, test.id()):
            with contextlib.suppress(TooLongError):
                test.run(result)
    result.write(end=True)
    sys.stdout.flush()
    os._exit(0)  # threads of tests may not end


# In the process that counts.


def rows_in(out: Path) -> list[dict[str, Any]]:
    """The lines that were written."""
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def outcomes(path: Path, options: argparse.Namespace) -> dict[str, tuple[str, str]]:
    """For each test of a file that ran and was not skipped, its class and the text of its error."""
    out = options.out / f"{path.stem}.jsonl"
    command = [sys.executable, "-m", "tests.ports.jax_tests", str(path), "--rows", str(out)]
    command += ["--each", str(options.each), "--only", options.only]
    while not any("end" in row for row in rows_in(out)):
        before = len(rows_in(out))
        log = subprocess.run(command, capture_output=True, text=True, check=False)
        if len(rows_in(out)) == before:
            return {f"{path.stem}.": ("crash", " ".join(log.stderr.split())[-600:])}
    rows = rows_in(out)
    found = {row["begun"]: ("crash", "the process ended") for row in rows if "begun" in row}
    for row in rows:
        if "id" in row:
            found[row["id"]] = (row.get("class", "passed"), row.get("text", ""))
    return {name: each for name, each in found.items() if each[0] != "skipped"}


def expected() -> list[tuple[str, str, str]]:
    """Class, pattern and reason of the tests that do not pass."""
    lines = Path(__file__).with_name("jax_failures.txt").read_text(encoding="utf-8").splitlines()
    found = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            kind, _, rest = line.partition(" ")
            pattern, _, reason = rest.rpartition("  # ")
            found.append((kind, pattern.strip(), reason.strip()))
    return found


CLASSES = ("documented", "harness", "missing", "refused", "accepted", "value", "crash")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--each", type=int)
    parser.add_argument("--only", default="", help="tests whose names match a regular expression")
    parser.add_argument("--out", type=Path, help="what ran there before is not run again")
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("-v", action="store_true", help="also failures that are known")
    options = parser.parse_args()
    if options.each is None:
        options.each = 4 if options.files else 1
    if options.rows:
        run(options.folder, options.rows, options.each, options.only)
    options.out = options.out or Path(tempfile.mkdtemp(prefix="jax-tests-"))
    options.out.mkdir(parents=True, exist_ok=True)
    known, wrong = expected(), False
    print(f"| file | run | pass | {' | '.join(CLASSES)} | share |")
    print(f"|{'---|' * (len(CLASSES) + 4)}")
    counts: Counter[str] = Counter()
    remarks = []
    for file in options.files or SAMPLE:
        found: Counter[str] = Counter()
        for name, (kind, text) in outcomes(options.folder / f"{file}.py", options).items():
            listed = None
            if kind != "passed":
                line = f"{name}: {text}"
                listed = next((row for row in known if fnmatchcase(line, row[1])), None)
                kind = listed[0] if listed else kind
                wrong |= listed is None
                if listed is None or options.v:
                    remarks.append(f"{kind}: {name.partition(' ')[0]}: {text}")
            found[kind] += 1
        print(row_of(file, found), flush=True)
        counts += found
    print(row_of("all", counts))
    print(*sorted(remarks), sep="\n")
    return int(wrong or not counts)


def row_of(file: str, found: Counter[str]) -> str:
    """A line of the table; the share is of what is neither documented nor the harness's."""
    run, fair = found.total(), found.total() - found["documented"] - found["harness"]
    share = f"{100 * found['passed'] / fair:.1f} %" if fair else ""
    cells = [run, found["passed"], *(found[kind] or "" for kind in CLASSES), share]
    return f"| {file} | {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    raise SystemExit(main())
