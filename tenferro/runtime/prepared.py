"""A whole program as one function of NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.exec_ir import KEPT_ELEMENTS, Array, ExecProgram, Steps, elements, quiet
from tenferro.runtime.extensions import Boundary


class PreparedProgram(Steps):
    """A program that runs by the NumPy meaning of its ops, and its extension ops by `boundary`.

    Ops that hold programs run by it too, since there may be extension ops in these. Without it all
    run by their own meaning. Values that depend on no input are computed once if they are small,
    and else in each run.
    """

    def __init__(self, program: ExecProgram, boundary: Boundary | None) -> None:
        super().__init__(program, runtime=boundary)
        self._are_first = self._inputs == tuple(range(len(self._inputs)))
        self._copied = [at for at, slot in enumerate(self._outputs) if slot in self.retained]
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
            return self.results(inputs)

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """The same, with NumPy's warnings as they are set."""
        assert len(inputs) == len(self._inputs), "as many inputs as the program takes"
        values = self.start() if self._first is None else self._first.copy()
        if self._are_first:
            values[: len(inputs)] = inputs  # faster than one after another
        else:
            for slot, value in zip(self._inputs, inputs, strict=True):
                values[slot] = value
        self.run(values)
        outputs = [np.asarray(values[slot]) for slot in self._outputs]
        for place in self._copied:
            outputs[place] = outputs[place].copy()
        return outputs
