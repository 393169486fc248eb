"""Gradients under a memory limit: what XLA then needs, against the limit and the prediction.

Parts: `limits` (forty gradients, each without a limit and with limits that are parts of what it
needs: the temporaries and results that XLA reports, those that were predicted, and how many times
the operations), `chain` (the least memory and its price for a chain of layers), `time` (of the
pass, for each instruction). XLA's figures are those of the executable.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from support.harness import arguments, environment, note, table, verdict
from support.memory_programs import layer, normal, programs, repeated, square

import tenferro as tn
from tenferro.compiler import MemoryReport, memory_report
from tenferro.errors import MemoryLimitError
from tenferro_xla import XlaExecutor

XLA = XlaExecutor()


def measured(
    function: Any, args: Any, limit: int | None = None
) -> tuple[MemoryReport, int, int, float]:
    """The report, XLA's temporaries and its results in bytes, and the seconds of all passes.

    The report is that of the first program; XLA's figures may be those of a tighter one.
    """
    program = tn.jit(function, memory_limit=limit).program(*args)
    inputs = dict(zip([each.name for each in program.inputs], args, strict=False))
    start = time.perf_counter()
    lowered = XLA.lower(program, inputs)
    seconds = time.perf_counter() - start
    memory = lowered.compile().memory()
    return memory_report(lowered.exec_program), memory.temporaries, memory.outputs, seconds


def limits(how: Any) -> None:
    rows, held, kept, total, refused, work = [], 0, 0, 0, 0, []
    for name, function, args in programs():
        if how.only and how.only not in name:
            continue
        free, temporaries, outputs, _ = measured(function, args)
        ratio = (temporaries + outputs) / max(free.peak, 1)
        row = [name, f"{free.peak / 1e6:.2f}", f"{ratio:.2f}"]
        for part in how.parts_of:
            limit = free.outputs + int(part * (free.peak - free.outputs))
            try:
                report, temporaries, outputs, _ = measured(function, args, limit)
            except MemoryLimitError as error:
                _, _, least = str(error).rpartition("least found is ")
                row.append(f"refused ({least.split()[0] if least else 'by XLA'})")
                refused += 1
                continue
            total += 1
            held += temporaries <= 1.2 * limit
            kept += temporaries + outputs <= 1.2 * limit
            work.append(report.work_factor)
            row.append(f"{(temporaries + outputs) / limit:.2f} {report.work_factor:.2f}x")
        rows.append(row)
    heads = ["", "predicted MB", "XLA / predicted", *(f"limit {part:.2f}" for part in how.parts_of)]
    table("XLA's bytes as a part of the limit, and the operations", heads, rows)
    note(f"{total} programs within their limit as predicted, {refused} refused")
    verdict("part whose temporaries are within 1.2 limits (missing)", 1 - held / total, 0.05, 0.05)
    verdict("the same with results (missing)", 1 - kept / total, 0.05, 0.05)
    verdict("times the operations, median", float(np.median(work)), 2.0, 2.0)


def chain(how: Any) -> None:
    rows = []
    x, w = normal(200, 200), square(200)
    for count in (16, 64, 144):
        function = tn.grad(repeated(count, layer), argnums=(0, 1))
        root = round(count**0.5)
        for units in (count, 4 * root, 2 * root + 4):
            try:
                report, temporaries, outputs, seconds = measured(function, (x, w), units * x.nbytes)
                found = f"{(temporaries + outputs) / x.nbytes:.1f}"
                work = f"{report.work_factor:.2f}"
            except MemoryLimitError:
                found, work, seconds = "refused", "", 0.0
            rows.append([str(count), str(units), found, work, f"{seconds:.2f}"])
    heads = ["layers", "limit, in arrays", "XLA, in arrays", "operations", "seconds to lower"]
    table("A chain of layers", heads, rows)


def passes(how: Any) -> None:
    rows = []
    x, w = normal(8, 8), square(8)
    for count in (200, 1250):
        function = tn.grad(repeated(count, layer), argnums=(0, 1))
        for part in (None, 0.5, 0.2):
            options = tn.OptimizerOptions(reroll=False, summed_products=False)
            program = tn.jit(function, options=options).program(x, w)
            free = program.memory(executor="numpy")
            limit = None if part is None else int(part * free.peak)
            start = time.perf_counter()
            report = tn.jit(function, executor="numpy", memory_limit=limit).memory(x, w)
            seconds = time.perf_counter() - start
            number = len(program.exec_program.instructions)
            rows.append(
                [
                    str(number),
                    "none" if part is None else f"{part:.1f} of the need",
                    f"{seconds:.2f}",
                    f"{seconds / number * 1e6:.0f}",
                    f"{report.work_factor:.2f}",
                ]
            )
    heads = ["instructions", "limit", "seconds", "µs for each", "operations"]
    table("Tracing, passes and report, on the NumPy executor", heads, rows)


PARTS = {"limits": limits, "chain": chain, "time": passes}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--parts-of", type=float, nargs="+", default=[0.6, 0.35])
    parser.add_argument("--only", default="", help="programs whose name has this text")
    chosen = parser.parse_args()
    environment()
    for part in chosen.parts:
        PARTS[part](chosen)


if __name__ == "__main__":
    main()
