"""eval_shape: the types of the results of a function, which is not run."""

from __future__ import annotations

from collections.abc import Callable

from tenferro.shape import TensorSpec, type_of
from tenferro.traced import trace_function, unflatten
from tenferro.typing import PyTree


def eval_shape(function: Callable[..., object], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """The types of the results of `function`, as a tree of `TensorSpec`. Nothing is computed.

    Args:
        function: any function of arrays.
        args, kwargs: its arguments: arrays, `TensorSpec`s, whose extents may be names, or trees of
            these.

    Raises:
        PytreeError: a leaf of the arguments or of the result is not an array.

    >>> import tenferro as tn
    >>> eval_shape(tn.matmul, tn.TensorSpec(("n", 3), "float32"), tn.TensorSpec((3, 2), "float32"))
    TensorSpec(f32[n,2])
    """
    trace, _ = trace_function(function, args, kwargs, nested=False)
    return unflatten(trace.out_tree, [TensorSpec.of(type_of(key)) for key in trace.outputs])
