"""The orders of axes that contractions request for their operands, from the outputs down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tenferro.compiler.target.layout.contraction import Contraction
from tenferro.compiler.target.layout.order import (
    AxisGroups,
    anything,
    exactly,
    natural,
)
from tenferro.compiler.target.layout.rules import NOTHING_CHOSEN, Choice, Rules, Wanted
from tenferro.exec_ir import ExecInstruction
from tenferro.ops import DotGeneral


@dataclass(slots=True)
class Request:
    """The order that the most expensive reader of a value requests."""

    groups: AxisGroups
    weight: float


class Requests:
    """For every value of a program the order that is requested.

    Attributes:
        wanted: for every contraction what it requests and what was decided for it.
        shares_copies: whether a contraction that cannot read an operand as it lies reads a copy
            that was made for another one, if there is one that it can read.
    """

    def __init__(
        self,
        rules: Rules,
        choices: Mapping[int, Choice] | None = None,
        shares_copies: bool = False,
    ) -> None:
        self.rules = rules
        self.problem = problem = rules.problem
        self.shares_copies = shares_copies
        self.choices = choices or {}
        self.requested: dict[int, Request] = {}
        self.wanted: dict[int, Wanted] = {}
        for slot in problem.program.output_slots:
            self._request(slot, exactly(natural(problem.rank(slot))), math.inf)
        for step in reversed(problem.program.instructions):
            self._visit(step)

    def groups(self, slot: int) -> AxisGroups:
        """The order requested of a value; any order if there is no request."""
        request = self.requested.get(slot)
        return anything(self.problem.rank(slot)) if request is None else request.groups

    def choice(self, slot: int) -> Choice:
        """The given choices for a contraction."""
        return self.choices.get(slot, NOTHING_CHOSEN)

    def _visit(self, step: ExecInstruction) -> None:
        """Request an order of each operand."""
        out = step.output_slots[0]
        if isinstance(step.op, DotGeneral):
            self._request_for_contraction(self.problem.contractions[out])
            return
        if self.problem.axis_map(step) is None:
            for slot in step.input_slots:
                order = exactly(natural(self.problem.rank(slot)))
                self._request(slot, order, self.problem.size(slot))
            return
        request = self.requested.get(out)
        if request is None or not request.weight:
            return
        passed_on = self.rules.passed_on(step, request.groups)
        for slot, groups in zip(step.input_slots, passed_on, strict=True):
            self._request(slot, groups, request.weight)

    def _request_for_contraction(self, contraction: Contraction) -> None:
        slot = contraction.slot
        wanted = self.rules.wanted(contraction, self.groups(slot), self.choice(slot))
        self.wanted[slot] = wanted
        weight = float(contraction.size) * contraction.terms
        for operand, groups in wanted.operands:
            self._request(operand, groups, weight)

    def _request(self, slot: int, groups: AxisGroups, weight: float) -> None:
        request = self.requested.get(slot)
        if request is None or weight > request.weight:
            self.requested[slot] = Request(groups, weight)
