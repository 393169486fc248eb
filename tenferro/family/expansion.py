"""The ops by which an extension op is replaced, checked while they are emitted."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import Emitter, V
from tenferro.errors import InvalidConfigError, TenferroError
from tenferro.family.op import ExtensionOp
from tenferro.shape import TensorMeta


def emit_expansion(
    op: ExtensionOp, expected: Sequence[TensorMeta], at: Emitter[V], operands: Sequence[V]
) -> tuple[V, ...] | None:
    """The values by which an op is replaced, for operands of exact sizes; None if there are none.

    Raises:
        InvalidConfigError: it fails, or its results are not of the expected types.
    """
    family = op.family_id
    metas = [at.ctx.meta(value) for value in operands]
    shapes = [meta.exact_shape(family, f"input {i}") for i, meta in enumerate(metas)]
    types = ", ".join(map(str, metas))
    try:
        outputs = op.expanded(at, operands, [meta.dtype for meta in metas], shapes)
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
