"""Memory on a device: predicted, told by XLA, and used; and networks sliced to what is free.

Forty gradients, each in a process of its own, since a device only tells the peak of a process. A
device that does not tell (the CPU) is compared with what XLA says of its executable. Then a network
that needs more than the limit: refused without slices, run with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import jax
import numpy as np
from support.harness import arguments, note, table, verdict
from support.memory_programs import programs
from support.on_device import begin, device_arguments, finish

import tenferro as tn
from tenferro.compiler import in_words, predict_memory
from tenferro.errors import MemoryLimitError
from tenferro.runtime import planning_for
from tenferro_xla import XlaExecutor


def one(name: str, device: str) -> None:
    """In a process of its own: write what one program needs."""
    executor = XlaExecutor(device)
    function, args = next((each[1], each[2]) for each in programs() if each[0] == name)
    program = tn.jit(function, executor=executor).program(*args)
    names = [each.name for each in program.inputs]
    lowered = executor.lower(program, dict(zip(names, args, strict=False)))
    need = predict_memory(lowered.exec_program, executor.device_model.runs)
    told = lowered.compile().memory()
    run = executor.compile_exec(program.exec_program)
    buffers = [executor.put(np.asarray(value)) for value in args]
    before = (executor.device.memory_stats() or {}).get("peak_bytes_in_use")
    jax.block_until_ready(run(*buffers))
    after = (executor.device.memory_stats() or {}).get("peak_bytes_in_use")
    used = None if after is None or before is None else after - need.arguments
    record = {"predicted": need.peak, "told": told.temporaries + told.outputs, "used": used}
    sys.stdout.write(json.dumps({"name": name, **record}))


def gradients(options: Any) -> list[dict[str, Any]]:
    """The needs of all programs whose name has the text."""
    names = [name for name, *_ in programs() if options.only in name][: options.count]
    found = []
    for name in names:
        command = [sys.executable, __file__, "--device", options.device, "--one", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def show(rows: list[dict[str, Any]]) -> None:
    lines, factors = [], []
    for row in rows:
        real = row["told"] if row["used"] is None else row["used"]
        factors.append(row["predicted"] / max(real, 1))
        used = "-" if row["used"] is None else in_words(row["used"])
        needs = [in_words(row["predicted"]), in_words(row["told"]), used]
        lines.append([row["name"], *needs, f"{factors[-1]:.2f}"])
    table("bytes beside arguments", ["", "predicted", "XLA", "used", "factor"], lines)
    within = np.mean([1.0 <= factor <= 1.3 for factor in factors])
    verdict("part not predicted within 1.0 to 1.3 of what is used", 1 - float(within), 1.0, 0.05)


def sliced(executor: XlaExecutor, limit: str) -> dict[str, Any]:
    """A network of small matrices whose largest intermediate takes four times the limit."""
    allowed = executor.free_bytes() if limit == "device" else int(limit)
    size = int((allowed / 2) ** 0.25)
    expression = "ai,bi,ci,di,aj,bj,cj,dj->"
    options: dict[str, Any] = {"optimize": False, "memory_limit": allowed}
    specs = [tn.TensorSpec((size, 8))] * 8
    with planning_for(executor):
        try:
            tn.einsum_plan(expression, *specs, slices=False, **options)
            note("without slices: it fits")
        except MemoryLimitError as error:
            note(f"without slices: {error}")
        plan = tn.einsum_plan(expression, *specs, slices=True, **options)
    run = tn.jit(lambda *a: tn.einsum(expression, *a, optimize=plan), executor=executor)
    rng = np.random.default_rng(0)
    operands = [rng.normal(size=spec.shape) / size for spec in specs]
    tables = [one.T @ other for one, other in zip(operands[:4], operands[4:], strict=True)]
    expected = np.sum(np.prod(tables, axis=0))
    wrong = abs(run(*operands).item() - expected) / abs(expected)
    told = f"{plan.slice_count} slices, predicted {in_words(plan.peak_bytes)}"
    note(f"limit {in_words(allowed)}: {told}; the result is {wrong:.0e} off")
    return {"limit": allowed, "slices": plan.slice_count, "wrong": wrong}


def main() -> None:
    parser = arguments(__doc__)
    device_arguments(parser)
    parser.add_argument("--only", default="", help="programs whose name has this text")
    parser.add_argument("--count", type=int, default=5, help="how many programs")
    parser.add_argument("--limit", default="2000000", help="bytes for networks, or 'device'")
    parser.add_argument("--one", metavar="NAME", help="one program, in this process")
    options = parser.parse_args()
    if options.one:
        one(options.one, options.device)
        return
    device = begin(options)
    rows = gradients(options)
    show(rows)
    network = sliced(XlaExecutor(device), options.limit)
    finish(options, device, {"gradients": rows, "network": network})


if __name__ == "__main__":
    main()
