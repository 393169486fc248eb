"""Apply an extension op to tensors of any kind; run a graph inside another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from tenferro.core import BatchSite, Emitter, GlobalValKey, JvpSite, TransposeSite, V
from tenferro.errors import InvalidConfigError, TracingError, counted
from tenferro.ir import TensorMeta, fresh_input, runtime_dims
from tenferro.ops import replay
from tenferro.ops.extension import Extension, ExtensionOp
from tenferro.ops.functions import OpFunction, dispatch
from tenferro.runtime import Tensor, TraceContext
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.trace import trace, traced_values
from tenferro.transforms.traced_tensor import TracedTensor, as_key

__all__ = ["apply", "apply_eager", "inline"]


# Applying an extension op to arrays, eager tensors or traced values.


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
            f"family_id={op.family_id}: expected {counted(op.input_count, 'input')}, got "
            f"{len(inputs)}",
        )

    return dispatch.apply(function, *[_array(value) for value in inputs])


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


# Writing rules and lowerings with ordinary array functions.


def inline(
    at: Emitter[V] | JvpSite[V] | TransposeSite[V] | BatchSite[V],
    function: Callable[..., Any],
    *values: V | None,
) -> Any:
    """Emit the ops of `function` on `values`; returns one value, or a tuple.

    `function` uses the functions and operators of `tenferro`. Each value is passed as a traced
    tensor; None, a symbolic zero, is passed as None. Results may be None as well.

    Args:
        at: the site of a derivative or batch rule, or the builder of `lower_to_standard_ops`.
        function: takes one argument for each value.
        values: values of that site or builder.

    Raises:
        TracingError: the function uses an array that is not in `values` and is too large for a
            constant.
    """
    emitter = at.emitter if isinstance(at, JvpSite | TransposeSite | BatchSite) else at
    inputs = [
        None if value is None else fresh_input(emitter.ctx.meta(value), f"value{i}")
        for i, value in enumerate(values)
    ]
    result = trace(TraceContext(), function, traced_values(inputs, None), {}, lambda result: result)
    several = isinstance(result, tuple | list)
    results = result if several else [result]
    outputs = [None if value is None else as_key(value) for value in results]
    bindings: dict[GlobalValKey, V] = {
        key: value
        for key, value in zip(inputs, values, strict=True)
        if key is not None and value is not None
    }
    metas = [emitter.ctx.meta(value) for value in bindings.values()]
    if any(isinstance(value, GlobalValKey) for value in bindings.values()):
        bindings.update({key: cast(V, key) for key in _size_sources(metas)})
    emitted = replay(emitter, outputs, bindings, "inline")
    return tuple(emitted) if several else emitted[0]


def _size_sources(metas: Iterable[TensorMeta]) -> Iterator[GlobalValKey]:
    """The graph values that determine data-dependent sizes.

    The emitted ops may need them to make a value of such a size.
    """
    for meta in metas:
        for extent in meta.extents:
            for leaf in () if extent.size is None else runtime_dims(extent.size):
                if leaf.source is not None:
                    yield leaf.source.value
