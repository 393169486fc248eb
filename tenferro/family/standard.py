"""The standard ops of an extension op, checked while they are emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from tenferro.chainrules import Emitter, PrimitiveOp, RuleContext, V
from tenferro.errors import InvalidConfigError, TenferroError
from tenferro.family.op import ExtensionOp
from tenferro.shape import TensorMeta


class StandardOps(Generic[V]):
    """The builder into which an extension emits its standard ops. It rejects extension ops."""

    def __init__(self, at: Emitter[V], family_id: str) -> None:
        self._at = at
        self._family_id = family_id

    @property
    def ctx(self) -> RuleContext:
        """The types of values."""
        return self._at.ctx

    def emit(self, op: PrimitiveOp, *operands: V) -> V:
        """The output of a single-output op."""
        self._check(op)
        return self._at.emit(op, *operands)

    def emit_all(self, op: PrimitiveOp, *operands: V) -> tuple[V, ...]:
        """All outputs of `op`."""
        self._check(op)
        return tuple(self._at.emit_all(op, *operands))

    def producer(self, value: V) -> tuple[Any, tuple[V, ...]] | None:
        """The op and operands of a single-output op."""
        return self._at.producer(value)

    def order(self, value: V) -> int:
        """The number of the value."""
        return self._at.order(value)

    def _check(self, op: PrimitiveOp) -> None:
        family: str | None = getattr(op, "family", None)
        if family is not None:
            raise InvalidConfigError(
                self._family_id,
                f"family_id={self._family_id}: lower_to_standard_ops emitted an op of {family}; "
                "it may emit standard ops only",
            )


def emit_standard(
    op: ExtensionOp, expected: Sequence[TensorMeta], at: Emitter[V], operands: Sequence[V]
) -> tuple[V, ...] | None:
    """The values that `lower_to_standard_ops` returns for operands of exact sizes, or None.

    Raises:
        InvalidConfigError: it fails, or its results are not of the expected types.
    """
    family = op.family_id
    metas = [at.ctx.meta(value) for value in operands]
    shapes = [meta.exact_shape(family, f"input {i}") for i, meta in enumerate(metas)]
    types = ", ".join(map(str, metas))
    try:
        outputs = op.lower_to_standard_ops(
            StandardOps(at, family), operands, [meta.dtype for meta in metas], shapes
        )
    except TenferroError as error:
        error.add_note(f"in lower_to_standard_ops of {family}")
        raise
    except Exception as error:
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops failed on {types}: "
            f"{type(error).__name__}: {error}",
        ) from error
    if outputs is None:
        return None
    if not isinstance(outputs, list | tuple):
        raise _unusable(family, outputs)
    try:
        emitted = [at.ctx.meta(value) for value in outputs]
    except Exception as error:
        raise _unusable(family, outputs) from error
    if emitted != list(expected):
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops gives "
            f"{', '.join(map(str, emitted)) or 'nothing'}, but infer_output_meta says "
            f"{', '.join(map(str, expected))}",
        )
    return tuple(outputs)


def _unusable(family: str, outputs: object) -> InvalidConfigError:
    return InvalidConfigError(
        family,
        f"family_id={family}: lower_to_standard_ops returned {outputs!r}; return a list of "
        "values of the builder, one for each output",
    )
