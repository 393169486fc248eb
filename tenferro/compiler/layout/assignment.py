"""Layout assignment: the pass, and its local search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from tenferro.compiler.background import give_way
from tenferro.compiler.cost_model import CPU, DeviceCosts
from tenferro.compiler.layout.axis_orders import Problem
from tenferro.compiler.layout.requests import NOTHING_CHOSEN, Choice, Requests, Rules
from tenferro.compiler.layout.rewrite import Estimate, LayoutRewrite, ProgramWriter
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import MAX_EXTENT, ExecProgram
from tenferro.ops import DotGeneral

__all__ = ["TRIALS", "ContractionLayout", "choose"]


# Improving the choices of orders one by one.

Choices = dict[int, Choice]

TRIALS = 150
"""How many changes are tried at most."""

PATIENCE = 8
"""Limit of the search time, as a multiple of what the orders cost one run of the program."""

LEAST_PATIENCE = 2
"""The multiple that is always granted; more only up to a tenth of the time to compile."""

STEP = 5e-5
"""Seconds that an estimate takes for each step of a program."""

WORTH = 3e-4
"""Seconds that orders must cost before changes are tried."""

SMALL = 0.02
"""The part of the total that a contraction must cost for its choices to be changed."""

GAIN = 0.005
"""The part of the total that a change must gain to be kept."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimated cost of a program with some choices.

    Attributes:
        seconds: the cost of the orders of axes.
        spent: the same by step, as the slot of its result.
        decided: all choices, including those of the rules.
        choices: the choices that were given.
        shares_copies: whether a product reads a copy that was made for another one.
        copied: whether there are copies in other orders.
    """

    seconds: float
    spent: Mapping[int, float]
    decided: Mapping[int, Choice]
    choices: Choices
    shares_copies: bool
    copied: bool


def choose(problem: Problem, costs: DeviceCosts, limit: int = TRIALS) -> Requests:
    """The orders to request: those of the rules, changed where that lowers the estimate.

    At most `limit` changes are tried.
    """
    rules = Rules(problem, costs)
    if not limit:
        return Requests(rules)
    best = estimate(rules, {})
    trials = (
        min(limit, _patience(best.seconds, len(problem.program.instructions), costs.compiling))
        if best.seconds > WORTH
        else 0
    )
    best, trials = _improved(rules, best, trials)
    if not best.copied:
        return Requests(rules, best.choices)
    sharing = estimate(rules, best.choices, shares_copies=True)
    if sharing.seconds < best.seconds:
        best, _ = _improved(rules, sharing, trials)
    return Requests(rules, best.choices, best.shares_copies)


def _improved(rules: Rules, best: Estimated, trials: int) -> tuple[Estimated, int]:
    """The best of so many changes, one after the other, and how many were not needed."""
    while trials > 0:
        before = best
        for slot in _dearest(best, rules.problem):
            for field in fields(Choice):
                trials -= 1
                change = {field.name: not getattr(best.decided[slot], field.name)}
                changed = replace(best.choices.get(slot, NOTHING_CHOSEN), **change)
                choices = {**best.choices, slot: changed}
                estimated = estimate(rules, choices, best.shares_copies)
                if estimated.seconds < (1 - GAIN) * best.seconds:
                    best = estimated
            if trials <= 0:
                break
        if best.seconds > (1 - 2 * GAIN) * before.seconds:
            break
    return best, trials


def _patience(seconds: float, steps: int, compiling: float) -> int:
    """How many changes may be tried where orders cost a run so many seconds.

    `compiling` is what a compiler takes for each step of the program.
    """
    granted = max(LEAST_PATIENCE * seconds, compiling * steps / 10)
    return int(min(PATIENCE * seconds, granted) / (STEP * steps))


def estimate(rules: Rules, choices: Choices, shares_copies: bool = False) -> Estimated:
    """The cost of the program with these choices; the rules decide the rest."""
    give_way()
    writer, requests = Estimate(rules.costs), Requests(rules, choices, shares_copies)
    rewrite = LayoutRewrite(requests, writer)
    rewrite.run()
    decided = {
        slot: replace(
            wanted.decided, repeated=slot in rewrite.repeated, split=slot in rewrite.split
        )
        for slot, wanted in requests.wanted.items()
    }
    return Estimated(
        writer.seconds, writer.spent, decided, choices, shares_copies, bool(rewrite.copies)
    )


def _dearest(estimated: Estimated, problem: Problem) -> list[int]:
    """The contractions that cost much, the most expensive first."""
    limit = SMALL * estimated.seconds
    slots = [slot for slot in problem.contractions if estimated.spent.get(slot, 0.0) >= limit]
    return sorted(slots, key=lambda slot: -estimated.spent[slot])


# The order of axes of every value, chosen for the contractions that read it.


@dataclass(frozen=True)
class ContractionLayout(Pass):
    """Chooses in which order the axes of computed values lie, for the `DotGeneral`s that read them.

    A contraction is fast where batch axes lead, the contracted axes lie together, last on the
    left, and the longer side is the left one. Working from outputs to inputs, each contraction
    requests an order of axes for its operands; where readers disagree, the most expensive one wins.
    An op that does not mix its axes passes the request on to its operands, a transpose renames
    axes, and axes are moved only where requests conflict.

    Attributes:
        costs: by which orders are compared.
        trials: the largest number of changes to the rules' choices to try; 0 uses the rules alone.
        pinned: the axes that are divided among devices, along which nothing is repeated, and of
            which one part counts; None if there are none.
    """

    costs: DeviceCosts = CPU
    trials: int = TRIALS
    pinned: PartitionedAxes | None = None

    looks_for = (DotGeneral,)
    needs = Needs.CONSTANT_EXTENTS

    def inside(self, program: ExecProgram) -> ContractionLayout:
        """The pass for loops, in which any axis may be divided if one of their operands is."""
        return self if self.pinned is None else replace(self, pinned=self.pinned.inside(program))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with other orders of axes inside; inputs and outputs are as they were."""
        if len(program.ops_of(DotGeneral)) < 2:
            return program
        if any(meta is not None and meta.static_shape is None for meta in program.slot_metas()):
            return program
        problem, writer = Problem(program, self.pinned), ProgramWriter()
        if min(problem.sizes) == 0 or max(problem.sizes) > MAX_EXTENT:
            return program  # empty, or too large and refused later
        if problem.is_best(self.costs):
            return program
        outputs = LayoutRewrite(choose(problem, self.costs, self.trials), writer).run()
        return writer.build(outputs)
