"""Called: what ops have in common that run one program once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tenferro.control.checks import ControlOp, plain
from tenferro.errors import ControlFlowError
from tenferro.exec_ir import Array, ExecProgram, Steps
from tenferro.shape import TensorMeta


class Called(ControlOp):
    """An op that runs its `body` once, on all of its operands."""

    body: ExecProgram

    body_fields = ("body",)
    is_loop = False

    def check_arity(self, count: int) -> None:
        """Raise ControlFlowError unless there is an operand for each input of the body."""
        if count != self.n_inputs:
            raise ControlFlowError(f"{self.name}: takes {self.n_inputs} operands, got {count}")

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The types that the body returns.

        Raises:
            ControlFlowError: the number of operands is wrong, or the type of one is not that of the
                body's input.
            VerifyError: the body is malformed.
        """
        self._check_operands(metas, self.body.input_metas)
        return plain(self.body.output_metas)

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """What the body returns."""
        self._check_arrays(inputs)
        values = self._steps.values(inputs)
        self._steps.run(values)
        return tuple(self._steps.outputs(values))

    @cached_property
    def _steps(self) -> Steps:
        """The body, prepared to run."""
        return Steps(self.body)
