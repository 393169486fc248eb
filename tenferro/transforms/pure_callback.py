"""pure_callback: a function of the user that runs on the host while a program runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast
from weakref import WeakValueDictionary

import optree

from tenferro.core import PRIMAL, op_key, user_site
from tenferro.errors import ADError, PytreeError
from tenferro.families import METHODS, Callback, HostFunction, VmapMethod
from tenferro.ir import DType, PyTree, annotate, as_dtype, integer_of
from tenferro.ops.extension import Extension
from tenferro.runtime import is_tracing
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.extension import apply
from tenferro.transforms.higher_order import require_function
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor, as_key
from tenferro.transforms.trees import NAMESPACE, TreeDef, flatten, in_order, unflatten

__all__ = ["called", "pure_callback"]

_functions: WeakValueDictionary[Hashable, HostFunction] = WeakValueDictionary()


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    vmap_method: VmapMethod = "sequential",
    **kwargs: PyTree,
) -> PyTree:
    """The result of a Python function that runs on the host when its value is needed.

    It must be a pure function: equal calls may be made once, calls whose result is not used are not
    made, and nothing orders calls. It has no derivative; wrap it in `custom_jvp`.

    Args:
        callback: takes trees of NumPy arrays, which it must not write to, and returns arrays.
        result_shape_dtypes: the types of the result: a tree of objects with a `shape` of integers
            and a `dtype`, such as `TensorSpec`.
        args: what the function takes: trees of arrays.
        vmap_method: how it is called within `vmap`. `"sequential"`: once for each entry.
            `"expand_dims"`: once for all, with one more first axis of each array, which has size 1
            for those that are the same for all entries. `"broadcast_all"`: the same, with all of
            full size. The result then has that axis, too.
        kwargs: arguments by name.

    Raises:
        ADError: `vmap_method` is not one of these; or a type has no shape of integers.
        BackendFailureError: the function failed, or returned arrays of other types. It may be
            raised later than the call.
        ControlFlowError: `callback` is not a function.
        PytreeError: an argument is not an array.

    >>> import numpy as np
    >>> import tenferro as tn
    >>> def smooth(x):
    ...     return np.convolve(x, [0.5, 0.5], "same")
    >>> f = tn.jit(lambda x: tn.pure_callback(smooth, x, x) * 2)
    >>> f(tn.Tensor([1.0, 3.0, 5.0]))
    Tensor([1., 4., 8.])
    """
    require_function("pure_callback", "callback", callback)
    if vmap_method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise ADError(f"pure_callback: vmap_method must be one of {known}, got {vmap_method!r}")
    leaves, in_tree = flatten((args, kwargs))
    for place, leaf in enumerate(leaves):
        leaf_meta(leaf, f"pure_callback: argument leaf {place}")
    results, out_tree = _types(result_shape_dtypes)
    held = _held(callback, in_tree, out_tree)
    op = Callback(held, len(leaves), results, vmap_method)
    return unflatten(out_tree, called(op, leaves))


def called(op: Callback, leaves: Sequence[Any]) -> list[Any]:
    """The results of a callback; recorded while tracing, also if no argument is traced."""
    if is_tracing() and not any(isinstance(leaf, EagerTensor) for leaf in leaves):
        leaves = [
            leaf if isinstance(leaf, TracedTensor) else TracedTensor(as_key(leaf))
            for leaf in leaves
        ]
        if not leaves:
            keys = annotate(op_key(Extension(op), (), PRIMAL, user_site()))
            return [TracedTensor(key) for key in keys]
    found = apply(op, *leaves)
    return list(found) if len(op.results) != 1 else [found]


def _held(function: Callable[..., Any], in_tree: TreeDef, out_tree: TreeDef) -> HostFunction:
    """The function of leaves; one for all calls of a function with the same structures."""
    name = f"pure_callback {getattr(function, '__name__', type(function).__name__)}"
    try:
        key = (function, in_tree, out_tree)
        known = _functions.get(key)
    except TypeError:  # the function is not hashable
        return HostFunction(name, on_leaves(name, function, in_tree, out_tree))
    if known is None:
        known = HostFunction(name, on_leaves(name, function, in_tree, out_tree))
        _functions[key] = known
    return known


def on_leaves(
    name: str, function: Callable[..., Any], in_tree: TreeDef, out_tree: TreeDef
) -> Callable[..., Sequence[Any]]:
    """A function of trees as a function of their leaves."""

    def call(*arrays: Any) -> Sequence[Any]:
        args, kwargs = unflatten(in_tree, arrays)
        result = function(*args, **kwargs)
        try:
            return out_tree.flatten_up_to(result)
        except ValueError:
            raise PytreeError(
                f"it returned {optree.tree_structure(result, namespace=NAMESPACE)}, but "
                f"result_shape_dtypes has the structure {out_tree}"
            ) from None

    return call


def _types(tree: PyTree) -> tuple[tuple[tuple[DType, tuple[int, ...]], ...], TreeDef]:
    leaves, treedef = optree.tree_flatten(
        tree,
        is_leaf=lambda value: hasattr(value, "shape") and hasattr(value, "dtype"),
        namespace=NAMESPACE,
    )
    return tuple([_type(leaf) for leaf in leaves]), in_order(treedef)


def _type(leaf: Any) -> tuple[DType, tuple[int, ...]]:
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None or dtype is None:
        raise ADError(
            f"pure_callback: result_shape_dtypes has a {type(leaf).__name__}; pass "
            "TensorSpec(shape, dtype) in its place"
        )
    sizes = [integer_of(size) for size in shape]
    if None in sizes:
        raise ADError(
            f"pure_callback: a result has the shape {tuple(shape)}; sizes must be integers"
        )
    return as_dtype(dtype), tuple(cast("list[int]", sizes))
