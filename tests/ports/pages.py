"""The code cells of JAX's documentation pages, on JAX and rewritten for tenferro, compared.

    python -m tests.ports.pages FOLDER [PAGE...] [--out FOLDER] [--only-tenferro] [-v]

FOLDER is `docs` of JAX's repository at the tag of the installed version. Each page runs in one
process for each side; its cells share one namespace, as in a notebook. Cells are compared by the
value of the last expression and by the numbers that they print, to 1e-3; an exception agrees with
an exception. Cells where JAX itself stops for want of a network or a library do not count. Random
numbers of NumPy without a seed are the same on both sides.

`pages_expected.txt` has the cells that differ as documented, how they differ, and why. The exit
code is 1 if another one differs, or one in another way.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import pickle
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tenferro as tn
from tenferro.cli.port import Porter

PAGES = (
    *("notebooks/Custom_derivative_rules_for_Python_code", "notebooks/Common_Gotchas_in_JAX"),
    *("notebooks/autodiff_cookbook", "gradient-checkpointing", "notebooks/thinking_in_jax"),
    *("notebooks/autodiff_remat", "external-callbacks", "higher-order", "control-flow"),
    *("pytrees", "custom_pytrees", "random-numbers", "notebooks/convolutions"),
    *("notebooks/vmapped_log_probs", "key-concepts", "jit-compilation"),
    *("jacobian-vector-products", "debugging", "automatic-differentiation", "tracing", "jaxpr"),
    *("complex-differentiation", "automatic-vectorization", "stateful-computations", "parallel"),
    *("notebooks/shard_map", "jep/9407-type-promotion", "debugging/flags", "notebooks/layout"),
)
LIMIT = 400
"""Seconds for a page on one side."""
NO_FAULT = ("ModuleNotFoundError", "URLError", "FileNotFoundError", "ConnectionError")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?|\bnan\b|\binf\b", re.IGNORECASE)
WORD = re.compile(r"(?:float|int|uint|complex)\d+|0x[0-9a-f]+|(?!nan\b|inf\b)[A-Za-z_]\w*")


def cells(path: Path) -> list[str]:
    """The code cells of a page of MyST, without options and magic."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [without_magic(without_options(cell)) for cell in found]


def without_options(cell: str) -> str:
    cell = re.sub(r"\A---\n.*?^---\n", "", cell, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\A(:[^\n]*\n)+", "", cell)


def without_magic(cell: str) -> str:
    """A cell that times nothing; other lines of IPython do nothing."""
    cell = re.sub(
        r"^(\s*)%(?:time|timeit)\b(?: -\S+(?: \d+)?)*\s*", r"\1", cell, flags=re.MULTILINE
    )
    return re.sub(r"^(\s*)[%!][^\n]*", r"\1pass", cell, flags=re.MULTILINE)


# One side of one page.


def run(side: str, page: str, sources: list[str], out: Path) -> None:
    """Run the cells, and write after each what came of those so far."""
    if side == "tenferro":
        tn.config.promotion, tn.config.default_float = "jax", "float32"
        porter = Porter()
        sources = [porter.port(source).text for source in sources]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    random.seed(0)
    np.random.seed(0)  # what the pages draw from
    rows = []
    for source in sources:
        printed, value, error = io.StringIO(), None, None
        with contextlib.redirect_stdout(printed):
            try:
                value = last_value(source, page, namespace)
            except BaseException as caught:  # a page may exit
                error = [type(caught).__name__, str(caught)[:600]]
        rows.append({"printed": printed.getvalue(), "value": plain(value), "error": error})
        out.write_bytes(pickle.dumps(rows))


def last_value(source: str, page: str, namespace: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, page, "exec"), namespace)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), page, "eval"), namespace)


def plain(value: Any) -> Any:
    """The value as lists of NumPy arrays and texts, whichever side made it."""
    if value is None or isinstance(value, str | bool | int | float | complex):
        return value
    if isinstance(value, dict):
        return {repr(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    array = None
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        with contextlib.suppress(Exception):  # keys, types and tracers are no arrays
            array = np.array(value)
    return f"<{type(value).__name__}>" if array is None or array.dtype == object else array


# Both sides compared.


def compared(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What is to be said of a cell: equal, not counted, stopped, accepted, value or printed."""
    if theirs["error"] and theirs["error"][0] in NO_FAULT:
        return "not counted"
    if bool(ours["error"]) != bool(theirs["error"]):
        return "stopped" if ours["error"] else "accepted"
    if ours["error"]:
        return "equal"
    if not close(ours["value"], theirs["value"]):
        return "value"
    a, b = numbers(ours["printed"]), numbers(theirs["printed"])
    equal = len(a) == len(b) and np.allclose(a, b, rtol=1e-2, atol=1e-3, equal_nan=True)
    return "equal" if equal else "printed"


def close(a: Any, b: Any) -> bool:
    """Whether two values agree; texts and objects that are no arrays do."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return (a is None) == (b is None)
    if isinstance(a, dict | list) or isinstance(b, dict | list):
        return False
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "fciub" or b.dtype.kind not in "fciub":
        return True
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True)


def numbers(text: str) -> list[float]:
    """The numbers that stand in a text, without those of words."""
    return [float(each) for each in NUMBER.findall(WORD.sub(" ", text))]


def rows_of(side: str, page: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What came of the cells of a page on one side, run in a process."""
    file: Path = options.out / f"{page.replace('/', '-')}.{side}.pickle"
    if side == "tenferro" or not (options.only_tenferro and file.exists()):
        file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.ports.pages", str(options.folder), page]
        with contextlib.suppress(subprocess.TimeoutExpired):
            command += ["--out", str(options.out), "--side", side]
            subprocess.run(command, timeout=LIMIT, capture_output=True, check=False)
    rows: list[dict[str, Any]] = pickle.loads(file.read_bytes()) if file.exists() else []
    return rows


def expected() -> dict[tuple[str, int], str]:
    """How cells differ as documented, by page and number.

    A line has a page, the numbers of cells, such as `0-3,7`, and how they differ; then the reason.
    """
    lines = Path(__file__).with_name("pages_expected.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line.strip() and not line.startswith("#"):
            page, numbers, verdict = line.partition("#")[0].split()
            for part in numbers.split(","):
                first, _, last = part.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    found[page, number] = verdict
    return found


def verdicts(page: str, options: argparse.Namespace) -> list[str]:
    """What is to be said of each cell of a page; what is not expected is printed."""
    expectations = expected()
    sources = cells(options.folder / f"{page}.md")
    sides = {side: rows_of(side, page, options) for side in ("jax", "tenferro")}
    said = []
    for number, source in enumerate(sources):
        lost = {"error": ["Lost", "the process ended"], "printed": "", "value": None}
        absent = {"error": [NO_FAULT[0], ""], "printed": "", "value": None}
        theirs, ours = (
            sides[side][number] if number < len(sides[side]) else other
            for side, other in (("jax", absent), ("tenferro", lost))
        )
        verdict = compared(ours, theirs)
        expectation = expectations.get((page, number))
        said.append("documented" if verdict == expectation else verdict)
        if verdict == "equal" and expectation:
            print(f"  {page} [{number}] is equal, and need not be listed")
        if verdict not in ("equal", "not counted") and (options.v or verdict != expectation):
            line = source.strip().split("\n")[-1][:100]
            why = " ".join(ours["error"] or [])[:300]
            print(f"  {page} [{number}] {verdict}: {line!r} {why}")
            if options.v and verdict in ("value", "printed"):
                print("    tenferro", str(ours["value"])[:200], ours["printed"][:300])
                print("    JAX     ", str(theirs["value"])[:200], theirs["printed"][:300])
    return said


DIFFERENT = ("value", "printed", "stopped", "accepted")
COLUMNS = ("equal", "documented", *DIFFERENT, "not counted")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir(), "tenferro-pages"))
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--only-tenferro", action="store_true", help="JAX's results are there")
    parser.add_argument("-v", action="store_true", help="all that differs, with the values")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pages = options.pages or [page for page in PAGES if (options.folder / f"{page}.md").exists()]
    if options.side:
        file = options.out / f"{pages[0].replace('/', '-')}.{options.side}.pickle"
        run(options.side, pages[0], cells(options.folder / f"{pages[0]}.md"), file)
        return 0
    counts = {page: Counter(verdicts(page, options)) for page in pages}
    counts["all"] = sum(counts.values(), Counter())
    print(f"\njax {jax.__version__}, tenferro {tn.__version__}\n")
    print(f"| page | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for page, found in counts.items():
        print(f"| {page} | {' | '.join(str(found[column]) for column in COLUMNS)} |")
    (options.out / "table.json").write_text(json.dumps(counts, indent=1))
    total = counts["all"]
    equal, documented = total["equal"], total["documented"]
    others = sum(total[verdict] for verdict in DIFFERENT)
    print(
        f"\n{equal + documented} of {equal + documented + others} equal or documented: "
        f"{equal} equal, {documented} documented"
    )
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
