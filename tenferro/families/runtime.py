"""The runtime of families with standard ops on native backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.compiler import NATIVE, optimize_for
from tenferro.exec_ir import Category, ExecInstruction, ExecProgram, program_of_op, run
from tenferro.family import Extension, ExtensionCache, ExtensionOp
from tenferro.shape import make_meta


class StandardRuntime:
    """Runs the standard ops of one family.

    The program of these ops is optimized for the inputs' shapes, and cached in the executor by
    payload, shapes and dtypes.
    """

    def __init__(self, family_id: str) -> None:
        self.family_id = family_id

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        metas = tuple([make_meta(buffer.dtype, tuple(buffer.shape)) for buffer in inputs])
        key = (op.payload_identity(), metas)
        program: ExecProgram = cache.get_or_make(
            key, lambda: optimize_for(program_of_op(Extension(op), metas), NATIVE)
        )

        def handler(step: ExecInstruction, operands: list[Any]) -> Sequence[Any]:
            if step.op.category is Category.BOUNDARY:
                return backend.execute_boundary(step.op, operands)  # type: ignore[no-any-return]
            with backend.with_backend_session() as session:
                return session.execute(step.op, operands)  # type: ignore[no-any-return]

        return run(program, list(inputs), handler)
