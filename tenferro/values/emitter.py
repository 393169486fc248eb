"""RunEmitter: runs each op as it is emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tenferro.chainrules import PrimitiveOp, only_output
from tenferro.config import config
from tenferro.errors import UnsupportedDynamicShapeError
from tenferro.exec_ir import ExecOp, check_size
from tenferro.ops import ADD
from tenferro.shape import TensorMeta
from tenferro.values.executors import Buffer, Executor, executor_named
from tenferro.values.host import buffer_meta
from tenferro.values.sizes import refuse_names


class RunEmitter:
    """Runs each op as it is emitted. Values are buffers of `executor`; NumPy arrays if it is None.

    On NumPy arrays an extension op is run by its own `eager_execute`.
    """

    def __init__(self, executor: Executor | None) -> None:
        self._host = executor is None
        self._executor = executor_named("numpy") if executor is None else executor

    @property
    def executor(self) -> Executor | None:
        """The executor whose buffers the values are; None for NumPy arrays."""
        return None if self._host else self._executor

    @property
    def ctx(self) -> BufferContext:
        """Metadata of buffers: their types."""
        return _CONTEXT

    def emit(self, op: PrimitiveOp, *operands: Buffer) -> Buffer:
        """The output of a single-output op."""
        return only_output(op, self.emit_all(op, *operands))

    def emit_all(self, op: PrimitiveOp, *operands: Buffer) -> tuple[Buffer, ...]:
        """All outputs of the op, after its shape rule has accepted the operands."""
        exec_op = cast(ExecOp, op)
        for meta in exec_op.infer_all([buffer_meta(operand) for operand in operands]):
            if meta.symbols():
                raise UnsupportedDynamicShapeError(exec_op.name, "result", f"symbolic: {meta}")
            check_size(meta, exec_op.name, config.max_bytes)
        if self._host and exec_op.family is not None:
            return exec_op.evaluate(operands)  # called directly, without a registered runtime
        return self._executor.run_op(exec_op, *operands)

    def producer(self, value: Buffer) -> None:
        """None: a buffer does not know the op that computed it."""
        return

    def order(self, value: Buffer) -> int:
        """0 for all buffers: operands are not reordered."""
        return 0


class BufferContext:
    """Metadata of buffers."""

    @property
    def adder(self) -> PrimitiveOp:
        """Addition."""
        return ADD

    def meta(self, value: Buffer) -> TensorMeta:
        """The type of a buffer."""
        return buffer_meta(value)

    def declare_like(self, value: Buffer, like: Buffer) -> None:
        """Does nothing: a buffer has its type."""

    def registered_rule(self, name: str) -> None:
        """None: buffers have no derivative rules."""


_CONTEXT = BufferContext()


def run_at(
    executor: Executor | None,
    function: Callable[..., Any],
    values: Sequence[Buffer],
    options: Mapping[str, Any],
) -> Any:
    """The results of an array function on buffers of an executor.

    Raises:
        ShapeError: a size of the result is a name.
    """
    try:
        return function(RunEmitter(executor), *values, **options)
    except UnsupportedDynamicShapeError as error:
        refuse_names(function.__name__, options.get("shape", ()), error)
        raise
