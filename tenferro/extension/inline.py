"""Writing rules and lowerings with ordinary array functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from tenferro.chainrules import BatchSite, Emitter, JvpSite, TransposeSite, V
from tenferro.computegraph import GlobalValKey
from tenferro.ops import replay
from tenferro.shape import TensorMeta, fresh_input, runtime_dims
from tenferro.traced import TracedTensor, as_key, tracing


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
    with tracing():
        result = function(*[None if key is None else TracedTensor(key) for key in inputs])
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
