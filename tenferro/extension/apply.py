"""Applying an extension op to whatever the user gives it."""

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
    """The outputs of `op`: one tensor, or a tuple where it has several.

    If an input is traced the op is recorded. An `EagerTensor`'s runtime runs it by the family's
    registered runtime. On tensors of a device their executor lowers it. On NumPy arrays and host
    tensors it is called directly.

    Raises:
        InvalidConfigError: the number of inputs is not the op's.
        MalformedFamilyIdError: the family has no valid id.
        ShapeError, DTypeError: the op cannot take these inputs.
        UnregisteredExtensionError, UnsupportedExtensionError: it cannot run where the inputs are.
    """
    function = OpFunction(Extension(op))
    if len(inputs) != op.input_count:
        raise InvalidConfigError(
            op.family_id,
            f"family_id={op.family_id}: expected {op.input_count} inputs, got {len(inputs)}",
        )

    return apply_function(function, *[_array(value) for value in inputs])


def apply_eager(op: ExtensionOp, *inputs: Any) -> Any:
    """As `apply`, for eager tensors: their runtime runs the op and records it.

    Raises:
        TracingError: no input is an `EagerTensor`, or one is traced.
        UnregisteredExtensionError: the runtime has no `ExtensionRuntime` of the family.
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
    """A Python number becomes an array: an extension op has no weak operands."""
    return Tensor(value) if isinstance(value, bool | int | float | complex) else value
