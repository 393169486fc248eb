"""Ordinary array programs, drawn at random, by `tn.jit` and by `jax.jit`.

Each program has 2 to 8 lines of what users write before anything else: functions of elements,
reductions, softmax, norms, products, slices, joins, pads, gathers, scatters, cumulative sums,
sorts, stencils, attention. It is run as a value, a gradient, a Hessian-vector product, or over a
batch, on arrays of about 100, 10 000 or a million numbers, from the device and from NumPy. Both
sides wait for the result. Results are compared first. Times are the least of interleaved rounds.

A first result is from the function to a value: traced, compiled and run, in a process that has run
other programs. `temporaries` are those that XLA reports.

The tables give the distribution. Then stand the programs above `--above`, each with its text;
`--texts DIR` writes what XLA was given and what it made of it, of both sides, for each of them.
"""

from __future__ import annotations

import gc
import json
import math
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import arguments, environment, geometric_mean, note, table, verdict
from support.ordinary_programs import JAX, KINDS, MODES, TENFERRO, Program, drawn

import tenferro as tn
from tenferro_xla import XlaExecutor

FLOOR = 1 << 16
"""Bytes added to both sides of a ratio of memory, so that small programs do not count."""
LARGE = 1e-4
"""Seconds from which a program counts as large."""
TOLERANCE = {"float32": 2e-3, "float64": 1e-9, "complex128": 1e-9}
FEWEST, MOST = 9, 400
LEAST = 1e-3


@dataclass(frozen=True)
class Row:
    """What was measured of a program, in seconds and ratios.

    Attributes:
        name: from which it is drawn again.
        mode, text: as drawn.
        times: least seconds of a call: ours and JAX's, from the device, then from NumPy.
        firsts: least seconds to a first result, ours and JAX's.
        temporaries: bytes, ours and JAX's.
        error: how far results are apart, over the largest number.
    """

    name: str
    mode: str
    text: str
    times: tuple[float, float, float, float]
    firsts: tuple[float, float]
    temporaries: tuple[int, int]
    error: float

    @property
    def device(self) -> float:
        return self.times[0] / self.times[1]

    @property
    def numpy(self) -> float:
        return self.times[2] / self.times[3]

    @property
    def first(self) -> float:
        return self.firsts[0] / self.firsts[1]

    @property
    def memory(self) -> float:
        return (self.temporaries[0] + FLOOR) / (self.temporaries[1] + FLOOR)


RATIOS: dict[str, Callable[[Row], float]] = {
    "run, device": lambda row: row.device,
    "run, NumPy": lambda row: row.numpy,
    "first result": lambda row: row.first,
    "temporaries": lambda row: row.memory,
}


def leaves(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def wait(results: Any) -> Any:
    for each in leaves(results):
        each.block_until_ready()
    return results


def first_result(f: Callable[..., Any], jit: Callable[..., Any], operands: Sequence[Any]) -> float:
    start = time.perf_counter()
    wait(jit(f)(*operands))
    return time.perf_counter() - start


def ours(f: Callable[..., Any]) -> Callable[..., Any]:
    """`tn.jit` with empty caches."""
    return tn.jit(f, executor=XlaExecutor())


def least(calls: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """Least times of calls that take turns, for about so many seconds."""
    best, stop = [math.inf] * len(calls), time.perf_counter() + seconds
    rounds = 0
    while rounds < FEWEST or (rounds < MOST and time.perf_counter() < stop):
        rounds += 1
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def apart(mine: Any, theirs: Any, conjugated: bool) -> float:
    """The largest difference of the results, as a part of the largest number of each.

    A result that is zero but for rounding, such as a gradient of what is constant, counts as one of
    the order of `LEAST`.
    """
    worst = 0.0
    for one, other in zip(leaves(mine), leaves(theirs), strict=True):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape:
            return math.inf
        b = b.conj() if conjugated else b  # JAX's gradients are the conjugates
        with np.errstate(invalid="ignore"):
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
        finite = np.abs(b[np.isfinite(b)])
        worst = max(worst, float(np.max(difference)) / max(float(finite.max(initial=0)), LEAST))
    return worst


def measured(program: Program, how: Namespace) -> Row:
    """Compile by both, compare, and time."""
    host = list(program.operands.values())
    theirs = [jnp.asarray(each) for each in host]
    executor = XlaExecutor()
    mine = [tn.asarray(each, device=executor) for each in host]
    firsts = [math.inf, math.inf]
    for _ in range(how.firsts):
        firsts[0] = min(firsts[0], first_result(program.function(TENFERRO), ours, mine))
        firsts[1] = min(firsts[1], first_result(program.function(JAX), jax.jit, theirs))
    f, g = tn.jit(program.function(TENFERRO), executor=executor), jax.jit(program.function(JAX))
    error = apart(wait(f(*mine)), wait(g(*theirs)), program.differentiated)
    calls: list[Callable[[], Any]] = [
        lambda: wait(f(*mine)), lambda: wait(g(*theirs)),
        lambda: wait(f(*host)), lambda: wait(g(*host)),
    ]  # fmt: skip
    for call in calls * 4:
        call()
    one, two, three, four = least(calls, how.seconds)
    memory = g.lower(*theirs).compile().memory_analysis()
    temporaries = (
        executor.lower(f.program(*mine)).compile().memory().temporaries,
        memory.temp_size_in_bytes,
    )
    return Row(program.name, program.mode, program.text, (one, two, three, four),
               (firsts[0], firsts[1]), temporaries, error)  # fmt: skip


def distribution(title: str, rows: Sequence[Row]) -> None:
    """A table of the ratios of some programs."""
    lines = []
    for what, ratio in RATIOS.items():
        found = np.array([ratio(row) for row in rows])
        mean = geometric_mean(found)
        above = [f"{100 * np.mean(found > limit):.1f}" for limit in (1.05, 1.1, 1.2, 1.3)]
        middle, ninth = np.percentile(found, (50, 90))
        lines.append(
            [what, f"{mean:.3f}", f"{middle:.3f}", f"{ninth:.2f}", f"{found.max():.2f}", *above]
        )
    heads = ["ratio to jax.jit", "geom. mean", "median", "90 %", "worst",
             "% > 1.05", "> 1.1", "> 1.2", "> 1.3"]  # fmt: skip
    table(f"{title}: {len(rows)} programs", heads, lines)


def above_limit(row: Row, limit: float) -> bool:
    return max(row.device, row.numpy) > limit or row.error > TOLERANCE[row.name.split()[0]]


def written(program: Program, folder: Path) -> None:
    """Write what XLA is given and what it makes of it, of both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    host = list(program.operands.values())
    executor = XlaExecutor()
    graph = tn.jit(program.function(TENFERRO), executor=executor).program(*host)
    mine = executor.lower(graph)
    theirs = jax.jit(program.function(JAX)).lower(*host)
    name = program.name.replace(" ", "_")
    for side, lowered, optimized in (
        ("tn", mine.as_text(), mine.compile().as_text()),
        ("jax", theirs.as_text(), theirs.compile().as_text()),
    ):
        Path(folder, f"{name}.{side}.mlir").write_text(lowered)
        Path(folder, f"{name}.{side}.hlo").write_text(optimized or "")
    Path(folder, f"{name}.py").write_text(program.text)


def report(rows: Sequence[Row], how: Namespace) -> None:
    for dtype in how.dtypes:
        chosen = [row for row in rows if row.name.startswith(dtype)]
        if not chosen:
            continue
        distribution(dtype, chosen)
        for mode in MODES:
            part = [row for row in chosen if row.mode == mode]
            if part and how.detail:
                distribution(f"{dtype}, {mode}", part)
        verdict(f"{dtype}: geometric mean", geometric_mean([row.device for row in chosen]), 1, 0.95)
        large = [row.device for row in chosen if row.times[1] >= LARGE]
        small = [row.device for row in chosen if row.times[1] < LARGE]
        verdict(f"{dtype}: worst of 0.1 ms and more", max(large, default=0.0), 1.2, 1.1)
        verdict(f"{dtype}: worst of less", max(small, default=0.0), 1.3, 1.2)
        firsts = [row.first for row in chosen]
        verdict(f"{dtype}: first results, geometric mean", geometric_mean(firsts), 1, 0.9)
        verdict(f"{dtype}: first results, worst", max(firsts), 1.5, 1.3)
    for row in sorted(rows, key=lambda row: -max(row.device, row.numpy)):
        if above_limit(row, how.above):
            shown = (f"{each * 1e6:.1f}" for each in row.times)
            note(
                f"\n{row.name}: device {row.device:.2f}, NumPy {row.numpy:.2f}, "
                f"first {row.first:.2f}, memory {row.memory:.2f}, apart {row.error:.1e}; "
                f"µs {' '.join(shown)}"
            )
            note(row.text)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--programs", type=int, default=60, help="of each dtype")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, nargs="+", help="in place of programs and start")
    parser.add_argument("--dtypes", nargs="+", default=list(TOLERANCE), choices=list(TOLERANCE))
    parser.add_argument("--mode", choices=list(MODES))
    parser.add_argument("--size", type=int, help="numbers of the first operand")
    parser.add_argument("--kinds", nargs="+", default=[], choices=list(KINDS), help="of lines")
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing for each program")
    parser.add_argument("--firsts", type=int, default=2, help="first results of each program")
    parser.add_argument("--above", type=float, default=1.1, help="ratio from which one is shown")
    parser.add_argument("--detail", action="store_true", help="a table for each mode")
    parser.add_argument("--texts", type=Path, help="a folder for the texts of programs above it")
    parser.add_argument("--rows", type=Path, help="a file of lines of JSON to append rows to")
    how = parser.parse_args()
    environment()
    jax.config.update("jax_enable_x64", True)
    rows = []
    seeds = how.seeds or range(how.start, how.start + how.programs)
    for seed in seeds:
        for dtype in how.dtypes:
            program = drawn(seed, dtype, how.size, how.mode, how.kinds)
            row = measured(program, how)
            rows.append(row)
            if how.rows:
                with how.rows.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            if how.texts and above_limit(row, how.above):
                written(program, how.texts)
        if len(rows) % 20 == 0:
            jax.clear_caches()
            gc.collect()
    report(rows, how)


if __name__ == "__main__":
    main()
