"""The constants of `tenferro.compiler.DeviceCosts` for this machine, fitted to whole networks.

Random networks, and the instances of `../shared/einsum_instances` where they are, are compiled and
timed. The constants are fitted to half of them, so that the time that the model predicts of the
program that XLA gets is near the measured one; the other half says how good the fit is. Give the
result to `XlaExecutor(contraction_costs=DeviceCosts(...))`.

A constant is changed by a factor at a time while that lowers the mean error, the absolute logarithm
of predicted over measured seconds. Changing a constant by a factor of two costs as much as an error
of one per cent, so that a constant on which no network depends keeps its default.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np
import opt_einsum
from opt_einsum.testing import rand_equation
from rich.progress import track
from support import networks
from support.harness import arguments, environment, note, repeated, table
from support.networks import INSTANCES, Network

import tenferro as tn
from tenferro.compiler import DeviceCosts
from tenferro.ir import ExecInstruction, ExecProgram
from tenferro.ops import BroadcastInDim, DotGeneral, Reshape, Transpose
from tenferro_xla import XlaExecutor

REAL = ("multiply", "edge", "matrix", "contracted_first", "pack", "short_left", "move", "write")
COMPLEX = ("complex_multiply", "complex_matrix")
FACTORS = (0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
HOLD = 0.01
SHORTEST, LONGEST = 2e-5, 2.0


@dataclass(frozen=True)
class Timed:
    """A network, the program that XLA got of it, and the seconds that it took."""

    name: str
    program: ExecProgram
    seconds: float

    def error(self, costs: DeviceCosts) -> float:
        """How far the prediction is off, as the logarithm of a factor."""
        return abs(math.log(program_seconds(costs, self.program) / self.seconds))


def program_seconds(costs: DeviceCosts, program: ExecProgram) -> float:
    """What the model expects a program to take that passes have made ready for XLA."""
    types = program.slot_metas()
    total = 0.0
    for step in program.instructions:
        shapes = [meta.static_shape or () for slot in step.input_slots if (meta := types[slot])]
        total += step_seconds(costs, step, shapes)
    return total


def step_seconds(costs: DeviceCosts, step: ExecInstruction, shapes: list[tuple[int, ...]]) -> float:
    """What the model expects one instruction to take."""
    numbers = math.prod(step.output_metas[0].static_shape or ())
    match step.op:
        case DotGeneral() as dot:
            left, right = shapes
            batch = math.prod(left[axis] for axis in dot.lhs_batch)
            terms = math.prod(left[axis] for axis in dot.lhs_contract)
            rows = math.prod(left) // (batch * terms)
            columns = math.prod(right) // (batch * terms)
            if step.dtype.kind == "c":
                product = batch * rows * columns * terms * costs.complex_multiply
                product *= costs.edges(rows, columns, terms) * costs.scale(step.dtype)
                return product + (batch - 1) * costs.complex_matrix + costs.kernel
            product = costs.product(step.dtype, batch, rows, columns, terms)
            seconds = product * (1 + costs.short_side(rows, columns)) + costs.kernel
            if max(dot.lhs_contract, default=0) < len(left) - 1:
                seconds += costs.packing(product, math.prod(left))
            return seconds
        case Transpose():
            return costs.moving(step.dtype, numbers)
        case Reshape():
            return 0.0
        case BroadcastInDim():
            return costs.writing(step.dtype, numbers)
        case _:
            return costs.kernel + costs.writing(step.dtype, numbers)


def random_networks(count: int) -> list[Network]:
    """Networks of six to thirty tensors, each on a path of its own."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        tensors, largest = int(rng.integers(6, 30)), int(rng.choice([4, 8, 16, 48]))
        expression, shapes = rand_equation(
            tensors, 3, n_out=int(rng.integers(0, 3)), d_min=2, d_max=largest, seed=seed
        )
        path, info = opt_einsum.contract_path(expression, *shapes, shapes=True, optimize="greedy")
        found.append(
            Network(
                f"random {seed}",
                expression,
                tuple(map(tuple, shapes)),
                "random",
                tuple(map(tuple, path)),
                math.log10(max(float(info.opt_cost), 1.0)),
            )
        )
    return found


def timed(network: Network, dtype: str, calls: int, executor: XlaExecutor) -> Timed | None:
    """The median of some calls; None where a call takes too long or too short to tell."""
    if network.seconds(dtype) > LONGEST:
        return None
    operands = network.operands(dtype)
    program = tn.make_program(
        lambda *arrays: tn.einsum(network.expression, *arrays, optimize=network.path), *operands
    )
    prepared = executor.lower(program).exec_program
    if any(step.op.bodies for step in prepared.instructions):
        return None  # the model says what one pass through a body takes
    run = executor.compile_exec(program.exec_program)
    buffers = [executor.put(operand) for operand in operands]
    call = repeated(lambda: jax.block_until_ready(run(*buffers)), 1)
    call()
    seconds = statistics.median(call() for _ in range(calls))
    if not SHORTEST < seconds < LONGEST:
        return None
    return Timed(f"{network.name} {network.kind} {dtype}", prepared, seconds)


def mean_error(costs: DeviceCosts, sample: Sequence[Timed]) -> float:
    """The mean over networks."""
    return statistics.mean(each.error(costs) for each in sample)


def fitted(names: Sequence[str], sample: Sequence[Timed], start: DeviceCosts) -> DeviceCosts:
    """The costs with the named constants changed while that lowers the mean error."""

    def loss(costs: DeviceCosts) -> float:
        moved = (abs(math.log2(getattr(costs, n) / getattr(start, n))) for n in names)
        return mean_error(costs, sample) + HOLD * sum(moved)

    best, costs = loss(start), start
    improved = True
    while improved:
        improved = False
        for name in names:
            for factor in FACTORS:
                candidate = replace(costs, **{name: getattr(costs, name) * factor})
                candidate_loss = loss(candidate)
                if candidate_loss < best - 1e-4:
                    best, costs, improved = candidate_loss, candidate, True
    return costs


def chosen_networks(count: int) -> list[Network]:
    """Random networks, and the instances that are at hand."""
    chosen = random_networks(count)
    for file in sorted(INSTANCES.glob("*.json")) if INSTANCES.is_dir() else []:
        chosen += networks.read(file)
    return chosen


def fit(
    chosen: Sequence[Network], executor: XlaExecutor, start: DeviceCosts, calls: int
) -> DeviceCosts:
    """The costs of the executor's device, fitted to every other network, judged on the rest.

    A constant that is 0 at the start stays so: the device does not know such a cost.
    """
    costs = start
    for names, dtype in ((REAL, "float64"), (COMPLEX, "complex128")):
        names = tuple(name for name in names if getattr(start, name))
        sample = [
            result
            for network in track(chosen, f"timing in {dtype}")
            if (result := timed(network, dtype, calls, executor)) is not None
        ]
        learned, judged = sample[::2], sample[1::2]
        if not judged:
            note(f"{dtype}: too few networks take long enough to tell")
            continue
        before, costs = costs, fitted(names, learned, costs)
        report(dtype, names, before, costs, learned, judged)
    return costs


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--device", default="cpu:0", help="such as cpu:0 or gpu:0")
    parser.add_argument("--random", type=int, default=60, help="how many random networks")
    parser.add_argument("--calls", type=int, default=9, help="calls of each network")
    options = parser.parse_args()
    environment()
    executor = XlaExecutor(options.device)
    start = executor.device_model.costs
    costs = fit(chosen_networks(options.random), executor, start, options.calls)
    names = [name for name in (*REAL, *COMPLEX) if getattr(costs, name) != getattr(start, name)]
    note(f"DeviceCosts({', '.join(f'{name}={getattr(costs, name):.2g}' for name in names)})")


def report(
    dtype: str,
    names: Sequence[str],
    before: DeviceCosts,
    after: DeviceCosts,
    learned: Sequence[Timed],
    judged: Sequence[Timed],
) -> None:
    """What was fitted, and by which factor predictions are off before and after."""
    rows = [[name, f"{getattr(before, name):.3g}", f"{getattr(after, name):.3g}"] for name in names]
    for what, sample in (("fitted", learned), ("judged", judged)):
        errors = [f"{math.exp(mean_error(costs, sample)):.2f}" for costs in (before, after)]
        rows.append([f"off by a factor, {len(sample)} networks {what}", *errors])
    table(dtype, ["", "default", "fitted"], rows)


if __name__ == "__main__":
    main()
