"""Random programs on the NumPy executor, on the CPU and on a device: the results are equal.

Equal up to rounding, relative to the largest element of a result.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from support.harness import arguments, note, verdict
from support.on_device import begin, device_arguments, finish

from tenferro.ir import ExecProgram, evaluate
from tenferro_xla import XlaExecutor
from tenferro_xla.checks.checking import apart

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.random_programs import random_program

TOLERANCE = 1e-9


def inputs_of(program: ExecProgram, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    values = []
    for meta in program.input_metas:
        numbers = rng.normal(size=meta.static_shape)
        if meta.dtype.kind == "c":
            numbers = numbers + 1j * rng.normal(size=meta.static_shape)
        values.append(np.asarray(numbers, meta.dtype))
    return values


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    options = parser.parse_args()
    device = begin(options)
    executors = {"cpu": XlaExecutor("cpu"), "device": XlaExecutor(device)}
    wrong: list[dict[str, Any]] = []
    worst = 0.0
    for seed in range(options.first, options.first + options.programs):
        program = random_program(seed)
        values = inputs_of(program, seed)
        expected = evaluate(program, values)
        for name, executor in executors.items():
            results = executor.compile_exec(program).run_host(*values)
            far = max(apart(r, e, least=1.0) for r, e in zip(results, expected, strict=True))
            worst = max(worst, far)
            if far > TOLERANCE:
                wrong.append({"seed": seed, "on": name, "apart": far})
                note(f"program {seed} on {name}: {far:.1e} apart")
    note(f"{options.programs} programs, the largest difference is {worst:.1e}")
    verdict("programs that differ", len(wrong), 0, 0)
    finish(options, device, {"programs": options.programs, "worst": worst, "wrong": wrong})


if __name__ == "__main__":
    main()
