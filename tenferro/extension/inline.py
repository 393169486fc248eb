"""Writing rules and lowerings with ordinary array functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from tenferro.chainrules import Emitter, JvpSite, TransposeSite, V
from tenferro.computegraph import GlobalValKey
from tenferro.ops import replay
from tenferro.shape import TensorMeta, fresh_input, runtime_dims
from tenferro.traced import TracedTensor, as_key, tracing


def inline(
    at: Emitter[V] | JvpSite[V] | TransposeSite[V],
    function: Callable[..., Any],
    *values: V | None,
) -> Any:
    """Emit what `function` computes from `values`; the result is one value, or a tuple of them.

    `function` is written with the functions and operators of `tenferro` and sees each value as a
    traced tensor; a None, a symbolic zero, stays None. What it returns may hold None as well.

    Args:
        at: the site of a derivative rule, or the builder of `lower_to_standard_ops`.
        function: takes as many arguments as there are values.
        values: values of that site or builder.

    Raises:
        TracingError: the function uses an array that is too large for a constant and is not among
            `values`.
    """
    emitter = at.emitter if isinstance(at, JvpSite | TransposeSite) else at
    inputs = [
        None if value is None else fresh_input(emitter.ctx.meta(value), f"value{i}")
        for i, value in enumerate(values)
    ]
    with tracing():
        result = function(*[None if key is None else TracedTensor(key) for key in inputs])
    several = isinstance(result, tuple | list)
    outputs = [None if one is None else as_key(one) for one in (result if several else [result])]
    known: dict[GlobalValKey, V] = {
        key: value
        for key, value in zip(inputs, values, strict=True)
        if key is not None and value is not None
    }
    metas = [emitter.ctx.meta(value) for value in known.values()]
    if any(isinstance(value, GlobalValKey) for value in known.values()):
        known.update({key: cast(V, key) for key in _size_sources(metas)})
    emitted = replay(emitter, outputs, known, "inline")
    return tuple(emitted) if several else emitted[0]


def _size_sources(metas: Iterable[TensorMeta]) -> Iterator[GlobalValKey]:
    """The graph values that sizes which data decide are read from.

    What is emitted may need them where it makes a value of such a size.
    """
    for meta in metas:
        for extent in meta.extents:
            for leaf in () if extent.size is None else runtime_dims(extent.size):
                if leaf.source is not None:
                    yield leaf.source.value
