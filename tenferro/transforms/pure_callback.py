"""pure_callback: a function of the user that runs on the host while a program runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, Self, cast, get_args
from weakref import WeakValueDictionary

import numpy as np
import optree

from tenferro.core import PRIMAL, Batched, BatchSite, Emitter, V, op_key, user_site
from tenferro.errors import (
    ADError,
    BackendFailureError,
    PytreeError,
    UnsupportedADRuleError,
    class_of,
)
from tenferro.ir import (
    Dim,
    DType,
    Handle,
    NumpyArray,
    PyTree,
    TensorMeta,
    annotate,
    as_dtype,
    dtype_kind,
    fresh_token,
    integer_of,
    is_inexact,
)
from tenferro.ops import Reshape
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    family_id,
    one_by_one,
    unaliased,
)
from tenferro.runtime import is_tracing
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.extension import apply
from tenferro.transforms.higher_order import require_function
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor, as_key
from tenferro.transforms.trees import NAMESPACE, TreeDef, flatten, unflatten

__all__ = ["Callback", "HostFunction", "called", "declared_types", "on_leaves", "pure_callback"]

# The family of callbacks.

VmapMethod = Literal["sequential", "expand_dims", "broadcast_all"]
METHODS: tuple[str, ...] = get_args(VmapMethod)
_KINDS = "biufc"
"""Kinds of dtypes; a Python number is converted to one that is not before its own."""


class HostFunction(Handle):
    """A function of NumPy arrays that returns a sequence of arrays. Compared by identity.

    Attributes:
        name: what errors call it: `pure_callback f`.
        function: the function.
    """

    def __init__(self, name: str, function: Callable[..., Sequence[Any]]) -> None:
        self.name = name
        self.function = function
        self._token = fresh_token()

    @property
    def token(self) -> bytes:
        """Bytes of this function alone."""
        return self._token

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __str__(self) -> str:
        return self.name


@family_id(namespace="tenferro", name="callback", version=1)
@dataclass(frozen=True)
class Callback(FamilyOp):
    """Calls a function of the user on the host.

    Attributes:
        function: the function.
        inputs: number of operands.
        results: dtype and shape of each result, for one entry of a batch.
        method: how it is called for a batch, as in `jax.pure_callback`.
        axes: for each leading axis of a batch, the operand that has its size.
    """

    function: HostFunction
    inputs: int
    results: tuple[tuple[DType, tuple[int, ...]], ...]
    method: VmapMethod = "sequential"
    axes: tuple[int, ...] = ()

    @property
    def input_count(self) -> int:
        """The number of operands."""
        return self.inputs

    @property
    def output_count(self) -> int:
        """The number of results."""
        return len(self.results)

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        """The declared types, with the axes of the batch in front."""
        batch = tuple([input_shapes[operand][axis] for axis, operand in enumerate(self.axes)])
        return [(dtype, (*batch, *shape)) for dtype, shape in self.results]

    def kernel(self, *inputs: NumpyArray) -> Sequence[NumpyArray]:
        """What the function returns.

        Raises:
            BackendFailureError: the function failed, or returned values of other types.
        """
        return self._called(inputs)

    def _called(self, inputs: Sequence[NumpyArray]) -> list[NumpyArray]:
        """What the function returns, checked."""
        types = [array.dtype for array in inputs], [array.shape for array in inputs]
        try:
            results = unaliased(self.function.function(*[_read_only(array) for array in inputs]))
        except BackendFailureError:
            raise
        except Exception as error:
            self.refuse(f"raised {type(error).__name__}: {error}", error)
        expected = Callback.infer_output_meta(self, *types)
        return [
            self._checked(place, value, dtype, shape)
            for place, (value, (dtype, shape)) in enumerate(zip(results, expected, strict=True))
        ]

    def jvp(self, at: FormulaSite) -> Terms:
        """No tangents of integers; for others an error."""
        if any(is_inexact(dtype) for dtype, _ in self.results):
            raise UnsupportedADRuleError(
                self.family_id,
                "linearize",
                f"{self.function} has no derivative; wrap it in custom_jvp, or stop the gradient "
                "of its arguments with lax.stop_gradient",
            )
        return [None] * len(self.results)

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """One call for each entry, or one call on whole batches, as `method` says."""
        if self.method == "sequential":
            return one_by_one(Extension(self), at)
        whole = replace(self, axes=(at.batched.index(True), *self.axes))
        operands = [_with_axis(at, place, self.method) for place in range(len(at.inputs))]
        return tuple([(value, True) for value in at.emitter.emit_all(Extension(whole), *operands)])

    def refuse(self, problem: str, cause: Exception | None = None) -> NoReturn:
        """Raise BackendFailureError in the name of the function."""
        text = f"{self.function} ({self.family_id}): {problem}"
        raise BackendFailureError(self.family_id, text, "callback") from cause

    def _checked(self, place: int, value: Any, dtype: DType, shape: Sequence[Dim]) -> NumpyArray:
        if isinstance(value, tuple | dict):
            self.refuse(f"result {place} is {class_of(value)}, not an array")
        expected = TensorMeta.of(dtype, shape)
        try:
            array = np.asarray(value)
            got = TensorMeta.of(array.dtype, array.shape)
            is_plain = isinstance(value, bool | int | float | complex | list)
            if is_plain and _KINDS.index(dtype_kind(array.dtype)) <= _KINDS.index(
                dtype_kind(dtype)
            ):
                array = np.asarray(value, dtype)
        except (ValueError, TypeError, OverflowError) as error:
            self.refuse(
                f"result {place} is {class_of(value)}, which is not {expected}: {error}",
                error,
            )
        if array.dtype != dtype or array.shape != tuple(shape):
            self.refuse(f"result {place} is {got}, but result_shape_dtypes says {expected}")
        return array


def _with_axis(at: BatchSite[V], place: int, method: VmapMethod) -> V:
    """An operand with an axis for the batch, which has size 1 if it is expanded."""
    if at.batched[place] or method == "broadcast_all":
        return at.repeated(place)
    return _expanded(at.emitter, at.inputs[place])


def _expanded(at: Emitter[V], value: V) -> V:
    shape = at.ctx.meta(value).exact_shape("pure_callback")
    return at.emit(Reshape((1, *shape)), value)


def _read_only(array: NumpyArray) -> NumpyArray:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


# The function that users call.

_functions: WeakValueDictionary[Hashable, HostFunction] = WeakValueDictionary()


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: None = None,
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
        sharding: must be None.
        vmap_method: how it is called within `vmap`. `"sequential"`: once for each entry.
            `"expand_dims"`: once for all, with one more first axis of each array, which has size 1
            for those that are the same for all entries. `"broadcast_all"`: the same, with all of
            full size. The result then has that axis, too.
        kwargs: arguments by name.

    Raises:
        ADError: `vmap_method` is not one of these, a type has no shape of integers, or `sharding`
            is not None.
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
    refuse_sharding("pure_callback", sharding)
    if vmap_method not in METHODS:
        known = ", ".join(map(repr, METHODS))
        raise ADError(f"pure_callback: vmap_method must be one of {known}, got {vmap_method!r}")
    leaves, in_tree = flatten((args, kwargs))
    for place, leaf in enumerate(leaves):
        leaf_meta(leaf, f"pure_callback: argument leaf {place}")
    results, out_tree = declared_types(result_shape_dtypes)
    host_function = _host_function(callback, in_tree, out_tree)
    op = Callback(host_function, len(leaves), results, vmap_method)
    return unflatten(out_tree, called(op, leaves))


def refuse_sharding(caller: str, sharding: object) -> None:
    """Raise ADError if it is said where a function is called."""
    if sharding is not None:
        raise ADError(f"{caller}: sharding must be None: the host calls the function")


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


def _host_function(
    function: Callable[..., Any], in_tree: TreeDef, out_tree: TreeDef
) -> HostFunction:
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


def declared_types(
    tree: PyTree, caller: str = "pure_callback"
) -> tuple[tuple[tuple[DType, tuple[int, ...]], ...], TreeDef]:
    """The dtype and shape of each leaf of what a user says of results, and their structure."""
    leaves, treedef = flatten(
        tree, lambda value: hasattr(value, "shape") and hasattr(value, "dtype")
    )
    return tuple([_type(leaf, caller) for leaf in leaves]), treedef


def _type(leaf: Any, caller: str) -> tuple[DType, tuple[int, ...]]:
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None or dtype is None:
        raise ADError(
            f"{caller}: result_shape_dtypes has {class_of(leaf)}; pass "
            "TensorSpec(shape, dtype) in its place"
        )
    sizes = [integer_of(size) for size in shape]
    if None in sizes:
        raise ADError(f"{caller}: a result has the shape {tuple(shape)}; sizes must be integers")
    return as_dtype(dtype), tuple(cast("list[int]", sizes))
