"""A whole program as one function of NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.control import ControlOp
from tenferro.exec_ir import KEPT_ELEMENTS, Array, ExecOp, ExecProgram, Steps, elements, quiet
from tenferro.family import Extension
from tenferro.runtime.extensions import Boundary


class PreparedProgram(Steps):
    """A program that runs by the NumPy meaning of its ops, and its extension ops by `boundary`.

    Ops that hold programs run by it too, since there may be extension ops in these. Values that
    depend on no input are computed once if they are small, and else in each run.
    """

    def __init__(self, program: ExecProgram, boundary: Boundary) -> None:
        def runs(op: ExecOp) -> Callable[[Sequence[Array]], Sequence[Array]] | None:
            by_boundary = isinstance(op, Extension | ControlOp)
            return functools.partial(boundary, op) if by_boundary else None

        super().__init__(program, runs=runs)
        self._inputs, self._outputs = program.input_slots, program.output_slots
        self._kept = self.stays.intersection(self._outputs)
        made = [step.output_metas for step in self.once if step.op.source]
        is_small = sum(map(elements, made)) <= KEPT_ELEMENTS
        self._first: list[Any] | None = self.start() if is_small else None

    @staticmethod
    def fits(program: ExecProgram) -> bool:
        """Whether the sizes of all values are known, so that they need no check while it runs."""
        return not program.holds_unknown_shapes

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs, of which some may be inputs or views."""
        with quiet():
            values = self.start() if self._first is None else self._first.copy()
            for slot, value in zip(self._inputs, inputs, strict=True):
                values[slot] = value
            self.run(values)
        kept = self._kept
        return [
            np.array(values[slot]) if slot in kept else np.asarray(values[slot])
            for slot in self._outputs
        ]
