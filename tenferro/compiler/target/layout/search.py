"""Improving the choices of orders one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from tenferro.compiler.target.costs import DeviceCosts
from tenferro.compiler.target.layout.problem import Problem
from tenferro.compiler.target.layout.requests import NOTHING_CHOSEN, Choice, Requests
from tenferro.compiler.target.layout.rewrite import LayoutRewrite
from tenferro.compiler.target.layout.writers import Estimate

Choices = dict[int, Choice]

TRIALS = 150
"""How many changes are tried at most."""

PATIENCE = 8
"""How many times as long as the orders cost a run of the program the search may take."""

STEP = 5e-5
"""Seconds that an estimate takes for each step of a program."""

WORTH = 3e-4
"""Seconds that orders must cost before changes are tried."""

SMALL = 0.02
"""The part of the whole that a contraction must cost before it is looked at."""

GAIN = 0.005
"""The part of the whole that a change must gain to be made."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a program with some choices would cost.

    Attributes:
        seconds: what the orders of axes cost.
        spent: the same by step.
        made: all choices, those of the rules included.
    """

    seconds: float
    spent: Mapping[int, float]
    made: Mapping[int, Choice]


def choose(problem: Problem, costs: DeviceCosts, limit: int = TRIALS) -> Requests:
    """The orders to request: as the rules have it, then changed where the estimate says so.

    At most `limit` changes are tried.
    """
    if not limit:
        return Requests(problem, costs)
    choices: Choices = {}
    best = estimate(problem, costs, choices)
    patience = PATIENCE * best.seconds / (STEP * len(problem.program.instructions))
    trials = min(limit, int(patience)) if best.seconds > WORTH else 0
    while trials > 0:
        before = best
        for slot in _dearest(best, problem):
            for field in fields(Choice):
                trials -= 1
                other = {field.name: not getattr(best.made[slot], field.name)}
                candidate = {**choices, slot: replace(choices.get(slot, NOTHING_CHOSEN), **other)}
                found = estimate(problem, costs, candidate)
                if found.seconds < (1 - GAIN) * best.seconds:
                    best, choices = found, candidate
            if trials <= 0:
                break
        if best.seconds > (1 - 2 * GAIN) * before.seconds:
            break
    return Requests(problem, costs, choices)


def estimate(problem: Problem, costs: DeviceCosts, choices: Choices) -> Estimated:
    """What the program costs with these choices, the rules deciding the rest."""
    writer, requests = Estimate(costs), Requests(problem, costs, choices)
    rewrite = LayoutRewrite(requests, writer)
    rewrite.run()
    made = {
        slot: replace(choice, repeated=slot in rewrite.repeated, split=slot in rewrite.split)
        for slot, choice in requests.made.items()
    }
    return Estimated(writer.seconds, writer.spent, made)


def _dearest(found: Estimated, problem: Problem) -> list[int]:
    """The contractions on which much is spent, the dearest first."""
    limit = SMALL * found.seconds
    slots = [slot for slot in problem.contractions if found.spent.get(slot, 0.0) >= limit]
    return sorted(slots, key=lambda slot: -found.spent[slot])
