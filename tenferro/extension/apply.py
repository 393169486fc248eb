"""Applying an extension op to arrays, eager tensors or traced values."""

from __future__ import annotations

from typing import Any

from tenferro.dispatch import OpFunction
from tenferro.dispatch import apply as apply_function
from tenferro.eager import EagerTensor
from tenferro.errors import InvalidConfigError, TracingError
from tenferro.family import Extension, ExtensionOp
from tenferro.runtime import Tensor
from tenferro.traced import TracedTensor


def apply(op: ExtensionOp, *inputs: Any) -> Any:
    """The outputs of `op`: one tensor, or a tuple of several.

    If an input is traced, the op is recorded. If one is an `EagerTensor`, its runtime runs the
    registered runtime of the family. If one is on a device, the executor of the device lowers the
    op. On NumPy arrays and host tensors `eager_execute` is called.

    Raises:
        InvalidConfigError: the number of inputs is not `input_count`.
        MalformedFamilyIdError: the family has no valid id.
        ShapeError, DTypeError: the op cannot take these inputs.
        UnregisteredExtensionError, UnsupportedExtensionError: the op cannot run on the inputs'
            device.
    """
    function = OpFunction(Extension(op))
    if len(inputs) != op.input_count:
        raise InvalidConfigError(
            op.family_id,
            f"family_id={op.family_id}: expected {op.input_count} inputs, got {len(inputs)}",
        )

    return apply_function(function, *[_array(value) for value in inputs])


def apply_eager(op: ExtensionOp, *inputs: Any) -> Any:
    """Like `apply`, but only for eager tensors: their runtime runs the op and records it.

    Raises:
        TracingError: no input is an `EagerTensor`, or one is traced.
        UnregisteredExtensionError: the runtime has no `ExtensionRuntime` for the family.
    """
    kinds = {type(value) for value in inputs}
    if EagerTensor not in kinds or TracedTensor in kinds:
        names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
        raise TracingError(
            f"apply_eager: takes tensors of an EagerRuntime, got {names}; make them with "
            "runtime.variable or runtime.constant, or use apply"
        )
    return apply(op, *inputs)


def _array(value: Any) -> Any:
    """Convert a Python number to an array: extension ops do not take weak numbers."""
    return Tensor(value) if isinstance(value, bool | int | float | complex) else value
