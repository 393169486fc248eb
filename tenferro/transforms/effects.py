"""Effects: functions that are called while a program runs for what they do, as `io_callback`.

Graphs have no order but that of values, and compute what a result needs. So each call of such a
function has one more result, its token, and a trace ends with its results *after* the tokens of its
calls: each is an `After` op, the identity, which reads them. A result that is needed then needs the
calls, in every transform: derivatives of an `After` read the tokens as well.

In the body of a loop a call reads an argument of the body: it belongs to one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.config import flag
from tenferro.core import PRIMAL, Batched, BatchSite, V, op_key, user_site
from tenferro.errors import UnsupportedADRuleError
from tenferro.ir import BOOL, DType, NumpyArray, PyTree, TensorMeta, annotate, dtype_kind, type_of
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    family_id,
    one_by_one,
)
from tenferro.runtime import (
    Tensor,
    current_trace,
    executor_module,
    family_package,
    is_tracing,
)
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.higher_order import require_function
from tenferro.transforms.pure_callback import (
    Callback,
    HostFunction,
    declared_types,
    on_leaves,
    refuse_sharding,
)
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor, as_key
from tenferro.transforms.trees import flatten, unflatten

__all__ = ["CALLBACK", "Effect", "called_for_effect", "effects_barrier", "io_callback"]


@family_id(namespace="tenferro", name="effect", version=1)
@dataclass(frozen=True)
class Effect(Callback):
    """Calls a function of the user on the host for what it does. The first result is the token.

    Attributes:
        before: how many of the last operands the function does not get: the call is after them.
        ordered: whether it keeps its place among other such calls.
    """

    before: int = 0
    ordered: bool = False

    @property
    def output_count(self) -> int:
        """The number of results, and the token."""
        return 1 + len(self.results)

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        """A bool, and the declared types."""
        return [(BOOL, ()), *super().infer_output_meta(input_dtypes, input_shapes)]

    def kernel(self, *inputs: NumpyArray) -> Sequence[NumpyArray]:
        """The token, and what the function returns."""
        passed = inputs[: len(inputs) - self.before]
        return [np.asarray(True), *self._called(passed)]

    def jvp(self, at: FormulaSite) -> Terms:
        """No tangents of the token and of integers; for others an error."""
        if any(dtype_kind(dtype) in "fc" for dtype, _ in self.results):
            raise UnsupportedADRuleError(
                self.family_id,
                "linearize",
                f"{self.function} has no derivative; wrap it in custom_jvp, or stop the gradient "
                "of its arguments with lax.stop_gradient",
            )
        return [None] * self.output_count

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """One call for each entry, one after the other; one call, if no argument is batched."""
        own = len(at.inputs) - self.before
        if not any(at.batched[:own]) and not self.results:
            results = at.emitter.emit_all(Extension(self), *at.inputs)
            return tuple([(value, False) for value in results])
        if self.ordered:
            self.refuse("ordered effects within vmap have no order; pass ordered=False")
        return one_by_one(Extension(self), at)


_TOKEN = TensorMeta(BOOL, ())
CALLBACK = family_package("tenferro-callback", Callback, Effect)


def called_for_effect(
    function: HostFunction,
    leaves: Sequence[Any],
    results: tuple[tuple[DType, tuple[int, ...]], ...] = (),
    ordered: bool = False,
) -> list[Any]:
    """The results of a function on the host: called now, or recorded in the trace."""
    eager = any(isinstance(leaf, EagerTensor) for leaf in leaves)
    traced = any(isinstance(leaf, TracedTensor) for leaf in leaves)
    trace = current_trace()
    if eager or trace is None or not (traced or is_tracing()):
        arrays = [_now(leaf) for leaf in leaves]
        op = Effect(function, len(arrays), results)
        return [Tensor(array) for array in op.kernel(*arrays)[1:]]
    operands = [
        leaf.in_use(function.name) if isinstance(leaf, TracedTensor) else as_key(leaf)
        for leaf in leaves
    ]
    before = [] if trace.seed is None else [trace.seed]
    if trace.effects and type_of(trace.effects[-1]) == _TOKEN:  # calls stay in order, if it is free
        before.append(trace.effects[-1])
    around: Any = trace
    while ordered and around is not None:
        if around.last is not None:
            before += [around.last] if around.last not in before else []
            break
        around = around.parent
    op = Effect(function, len(operands) + len(before), results, before=len(before), ordered=ordered)
    keys = annotate(op_key(Extension(op), (*operands, *before), PRIMAL, user_site()))
    trace.effects.append(keys[0])
    if ordered:
        trace.last = keys[0]
    scope = None if trace.name is None else trace
    return [TracedTensor(key, None, scope) for key in keys[1:]]


def _now(leaf: Any) -> NumpyArray:
    if isinstance(leaf, EagerTensor):
        return leaf.numpy()
    return np.asarray(leaf if isinstance(leaf, Tensor) else Tensor(leaf))


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: PyTree,
) -> PyTree:
    """The result of a Python function that is called each time a program comes to it.

    Unlike that of `pure_callback`, it may do something: print, count, read a file. In a loop it is
    called in each iteration, within `vmap` for each entry, and in a branch if the branch is taken.
    The call belongs to the results of the function that is traced: if none of them is needed, it is
    not made. It has no derivative, but the function around it has.

    Args:
        callback: takes trees of NumPy arrays, which it must not write to, and returns arrays.
        result_shape_dtypes: the types of the result: a tree of objects with a `shape` of integers
            and a `dtype`, such as `TensorSpec`; None for nothing.
        args: what the function takes: trees of arrays.
        sharding: must be None.
        ordered: whether calls are made in the order in which they stand in the program.
        kwargs: arguments by name.

    Raises:
        ADError: a type has no shape of integers, or `sharding` is not None.
        BackendFailureError: the function failed, or returned arrays of other types. It may be
            raised later than the call. Or ordered calls are within `vmap`.
        ConfigError: `ordered` is not a bool.
        ControlFlowError: `callback` is not a function.
        PytreeError: an argument is not an array.

    >>> import numpy as np
    >>> import tenferro as tn
    >>> counted = []
    >>> def count(x):
    ...     counted.append(x.item())
    ...     return np.asarray(len(counted))
    >>> @tn.jit
    ... def f(x):
    ...     return x + tn.experimental.io_callback(count, tn.TensorSpec((), "int64"), x)
    >>> f(10), f(10), counted
    (Tensor(11), Tensor(12), [10, 10])
    """
    require_function("io_callback", "callback", callback)
    refuse_sharding("io_callback", sharding)
    leaves, in_tree = flatten((args, kwargs))
    for place, leaf in enumerate(leaves):
        leaf_meta(leaf, f"io_callback: argument leaf {place}")
    results, out_tree = declared_types(result_shape_dtypes, "io_callback")
    ordered = flag("io_callback: ordered", ordered)
    name = f"io_callback {getattr(callback, '__name__', type(callback).__name__)}"
    host = HostFunction(name, on_leaves(name, callback, in_tree, out_tree))
    return unflatten(out_tree, called_for_effect(host, leaves, results, ordered))


def effects_barrier() -> None:
    """Wait until all functions that running programs call have been called.

    >>> import tenferro as tn
    >>> tn.effects_barrier()
    """
    wait = executor_module("xla").wait_for_effects
    wait()
