"""Tracing a Python function, and turning graph values back into what the caller expects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.arrays import Number, is_number
from tenferro.computegraph import GlobalValKey, Input, ResolvedView, resolve_keys
from tenferro.errors import DeviceError, PytreeError, TenferroError, TracingError
from tenferro.network import ad_rules
from tenferro.ops import StdTensorOp
from tenferro.runtime import Executor, Tensor, executor_named, owner_of, tensor_owner
from tenferro.shape import TensorMeta
from tenferro.traced import (
    AdContext,
    CapturedArray,
    GraphCompiler,
    TracedTensor,
    as_key,
    capture,
    fresh_input,
    substitute,
    tracing,
)
from tenferro.transforms.trees import TreeDef, flatten, leaf_names, unflatten

COMPILER = GraphCompiler(capacity=0)
"""Compiles the programs of transforms that run at once. Each trace is new, so it keeps nothing."""

AD = AdContext(capacity=0, rules=ad_rules())
"""Differentiates for the functional transforms, with the rules of the families that come with
tenferro, and keeps nothing for the same reason."""


@dataclass(slots=True)
class Trace:
    """A function that has been traced on fresh inputs.

    Attributes:
        inputs: one fresh input for each traced leaf of the arguments.
        input_at: the same, by the position of the leaf among all leaves.
        outputs: the graph value of each leaf of the result.
        out_tree: structure of the result.
        aux: what the function returned beside its result.
        outer: whether the function read values of a trace around it.
        ad: takes the derivatives, with the rules of extension families that it has.
    """

    inputs: list[Input]
    input_at: dict[int, Input]
    outputs: list[GlobalValKey]
    out_tree: TreeDef
    aux: Aux
    outer: bool
    ad: AdContext


@dataclass(slots=True)
class Aux:
    """What a function returns beside its result.

    Traced leaves become values, others are passed through.
    """

    leaves: list[Any]
    tree: TreeDef

    @property
    def keys(self) -> list[GlobalValKey]:
        """The graph values among the leaves."""
        return [leaf.key for leaf in self.leaves if isinstance(leaf, TracedTensor)]

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The tree with the given values in place of the traced leaves."""
        computed = iter(values)
        return unflatten(
            self.tree,
            [next(computed) if isinstance(leaf, TracedTensor) else leaf for leaf in self.leaves],
        )


def trace_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    has_aux: bool = False,
    active: Container[int] | None = None,
    ad_context: AdContext | None = None,
) -> tuple[Trace, list[Any]]:
    """Trace `function` on fresh inputs of the types of the arguments' leaves; also those leaves.

    `active` are the positions of leaves that must be arrays; others that are none are passed to the
    function as they are. None means that all must be. `ad_context` takes the derivatives; None is
    one that knows the families of tenferro alone.

    Raises:
        PytreeError: such a leaf, or a leaf of the result, is no array.
    """
    leaves, treedef = flatten((args, dict(kwargs)))
    names = _argument_names(function, args, kwargs)
    input_at: dict[int, Input] = {}
    values = list(leaves)
    for position, (leaf, name) in enumerate(zip(leaves, names, strict=True)):
        if active is None or position in active or is_array(leaf):
            key = fresh_input(leaf_meta(leaf, f"argument {name}"), name)
            input_at[position] = key
            values[position] = TracedTensor(key, _weak(leaf))
    traced_args, traced_kwargs = unflatten(treedef, values)
    with tracing():
        result = function(*traced_args, **traced_kwargs)
        result, aux = _split_aux(result) if has_aux else (result, None)
        out_leaves, out_tree = flatten(result)
        outputs = [_output_key(leaf, position) for position, leaf in enumerate(out_leaves)]
    held = Aux(*flatten(aux))
    inputs = list(input_at.values())
    outer = _reads_outer([*outputs, *held.keys], inputs)
    ad = AD if ad_context is None else ad_context
    trace = Trace(inputs, input_at, outputs, out_tree, held, outer, ad)
    return trace, [leaves[position] for position in input_at]


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array of some kind, not a Python number or another object."""
    return (
        isinstance(leaf, Tensor | TracedTensor | np.ndarray | np.generic)
        or owner_of(leaf) is not None
    )


def leaf_meta(leaf: Any, what: str) -> TensorMeta:
    """The type of an array leaf.

    Raises:
        PytreeError: the leaf is no array or number.
    """
    meta = getattr(leaf, "meta", None)
    if isinstance(meta, TensorMeta):
        return meta
    try:
        return Tensor(leaf).meta
    except (TenferroError, TypeError):
        raise PytreeError(
            f"{what} is a {type(leaf).__name__}, not an array or number; make it static, "
            "or leave it out of the arguments"
        ) from None


def _weak(leaf: Any) -> Number | None:
    """The number that a weak leaf is or stands for."""
    return leaf if is_number(leaf) else getattr(leaf, "weak", None)


def is_traced(leaves: Sequence[Any]) -> bool:
    """Whether any leaf is a value of a trace that is going on."""
    return any(isinstance(leaf, TracedTensor) for leaf in leaves)


class Results:
    """Turns graph values into results.

    By running them, or, within an outer trace, as values of that trace.
    """

    def __init__(
        self, inputs: Sequence[Input], actual: Sequence[Any], outer: bool, function: Any = None
    ) -> None:
        self.inputs = inputs
        self.actual = actual
        self.traced = outer or is_traced(actual)
        self._executor: Executor | None = getattr(function, "executor", None)

    def seeds(self, leaves: Sequence[Any], names: str) -> tuple[list[GlobalValKey], Results]:
        """Graph values for further arguments, and the `Results` that know them.

        In an outer trace the arguments stand for themselves, so that constants simplify; otherwise
        they are inputs.
        """
        if self.traced or is_traced(leaves):
            keys = [as_key(leaf) for leaf in leaves]
            return keys, self.within()
        fresh = [
            fresh_input(leaf_meta(leaf, names), f"{names}{i}") for i, leaf in enumerate(leaves)
        ]
        return list(fresh), self.extended([*self.inputs, *fresh], [*self.actual, *leaves])

    def within(self) -> Results:
        """The same inputs, with results that are values of the trace around."""
        return Results(self.inputs, self.actual, outer=True)

    def extended(self, inputs: Sequence[Input], actual: Sequence[Any]) -> Results:
        """The same way of making results, for other inputs."""
        other = Results(inputs, actual, self.traced)
        other._executor = self._executor
        return other

    def of(self, outputs: Sequence[GlobalValKey]) -> list[Any]:
        """The values of `outputs`."""
        if self.traced:
            replacement: dict[GlobalValKey, GlobalValKey] = dict(
                zip(self.inputs, [as_key(leaf) for leaf in self.actual], strict=True)
            )
            replaced = substitute(outputs, replacement, AD.shapes)
            return [TracedTensor(key) for key in replaced if key is not None]
        return self._run(outputs)

    def _run(self, outputs: Sequence[GlobalValKey]) -> list[Tensor]:
        tensors = [Tensor(leaf) for leaf in self.actual]
        executor = self._executor or _executor_of(tensors)
        program = COMPILER.compile_keys(outputs, self.inputs)
        defaults = [declared.default for declared in program.inputs[len(tensors) :]]
        buffers = [
            place(tensor, executor)
            for tensor in [*tensors, *(d for d in defaults if d is not None)]
        ]
        results = executor.compile_exec(program.exec_program)(*buffers)
        owner = tensor_owner(executor)
        return [Tensor.wrap(buffer, owner) for buffer in results]


def place(tensor: Tensor, executor: Executor) -> Any:
    """The tensor's buffer on `executor`; host arrays are put there.

    Raises:
        DeviceError: the tensor is on a device that is not the executor's. Nothing moves unasked.
    """
    if tensor.executor is executor:
        return tensor.data
    if tensor.executor is None:
        return executor.put(tensor.data)
    if executor.owns(tensor.data):
        return tensor.data  # made by another executor of the same library
    raise DeviceError(
        f"{executor.name}: {tensor.meta} is on {tensor.placement}; move it with to_device('host')"
    )


def _executor_of(tensors: Sequence[Tensor]) -> Executor:
    for tensor in tensors:
        if tensor.executor is not None:
            return tensor.executor
    return executor_named("numpy")


def _reads_outer(outputs: Sequence[GlobalValKey], inputs: Sequence[Input]) -> bool:
    view: ResolvedView[StdTensorOp] = resolve_keys()
    own = set(inputs)
    _, met = view.topo_order(outputs)
    return any(key not in own and not isinstance(key.key, CapturedArray) for key in met)


def _output_key(leaf: Any, position: int) -> GlobalValKey:
    if isinstance(leaf, TracedTensor):
        return leaf.key
    leaf_meta(leaf, f"result leaf {position}")
    return capture(leaf if isinstance(leaf, np.ndarray) else Tensor(leaf))


def _split_aux(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise PytreeError("has_aux: the function must return a pair (result, aux)")
    return result


def _argument_names(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[str]:
    """Names for the leaves of the arguments, in the order of `flatten((args, kwargs))`.

    Raises:
        TracingError: `function` is none.
    """
    if not callable(function):
        raise TracingError(f"trace: takes a function of arrays, got a {type(function).__name__}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    roots = [*positional, *(f"arg{i}" for i in range(len(positional), len(args)))]
    names: list[str] = []
    for root, arg in zip(roots, args, strict=False):
        names += leaf_names(arg, root)
    for root in sorted(kwargs):
        names += leaf_names(kwargs[root], root)
    return names
