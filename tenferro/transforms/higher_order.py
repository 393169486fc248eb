"""Bodies of loops and branches, traced on typed leaves.

A function closes over the graph values that it reads and that are older than its trace: what it
computes itself, also of such values alone, stays in its program, so that a branch that is not
taken does not compute it. Constants stay inside. Captured arrays above the limit of literals are
inputs of the graph, and become operands; so do tensors that an eager runtime tracks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.compiler import MemoryLimit, tighter
from tenferro.config import RULES_OF_JAX, RULES_OF_PROCESS, rules_here
from tenferro.core import PRIMAL, GlobalValKey, Input, op_key, user_site
from tenferro.errors import ControlFlowError, PytreeError, UnsupportedDynamicShapeError, class_of
from tenferro.ir import (
    BOOL,
    Exact,
    ExecProgram,
    Number,
    PyTree,
    TensorMeta,
    annotate,
    common_dtype,
    describe,
    fresh_input,
    type_of,
)
from tenferro.ops.control_flow import ControlOp, plain, program_of
from tenferro.ops.extension import Package
from tenferro.ops.functions import OpFunction, apply, convert, emit_function, is_number
from tenferro.runtime import (
    Tensor,
    TraceContext,
    current_trace,
    innermost,
    is_tracing,
    meta_of_value,
    narrowed,
    weak_number,
)
from tenferro.transforms.data_sizes import closed_over
from tenferro.transforms.device_axes import axes_within
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.jit_arguments import jit_is_disabled
from tenferro.transforms.known_elements import declare_elements
from tenferro.transforms.program import Evaluation, compiled_within
from tenferro.transforms.trace import Trace, leaf_meta, trace, traced_values
from tenferro.transforms.traced_tensor import (
    CapturedArray,
    EagerCapture,
    TracedTensor,
    TraceEmitter,
    as_key,
    capture,
)
from tenferro.transforms.trees import (
    TreeDef,
    flatten,
    leaf_names,
    registering,
    shown,
    unflatten,
)

# The leaves of the arguments and results of loops, with their names and types.


@dataclass(slots=True)
class Leaves:
    """A tree of arrays and numbers.

    Attributes:
        values: the leaves.
        tree: their structure.
        paths: how each leaf is reached from the tree: `['w'][0]`; `[0]` for a tree that is a leaf.
        metas: the type of each leaf.
        weak: for each leaf whose dtype yields to that of arrays a number of its kind, else None.
    """

    values: list[Any]
    tree: TreeDef
    paths: list[str]
    metas: list[TensorMeta]
    weak: list[Number | None]

    def typed(self) -> list[Any]:
        """The leaves, converted to the types that they are to have."""
        return list(map(_converted, self.values, self.metas))

    def __str__(self) -> str:
        """The tree with the types of its leaves: `(f64[2], i64[])`."""
        return shown(self.tree, self.metas)


def leaves_of(tree: PyTree, where: str) -> Leaves:
    """The leaves of a tree. Errors call it `where`: `scan: init`."""
    values, treedef = flatten(tree)
    if (rules_here.get() or RULES_OF_PROCESS[0]) is RULES_OF_JAX:
        values = list(map(narrowed, values))
    leaves = Leaves(values, treedef, leaf_names(tree, ""), [], [])
    for place, (value, path) in enumerate(zip(leaves.values, leaves.paths, strict=True)):
        leaves.metas.append(_meta(value, where, path))
        leaves.weak.append(weak_leaf(value))
        leaves.paths[place] = path or "[0]"
    return leaves


def weak_leaf(value: Any) -> Number | None:
    """The number that a leaf is or stands for. A bool is no number: it does not become one."""
    number = weak_number(value)
    return None if isinstance(number, bool) else number


def as_array(value: Any) -> Any:
    """A leaf as an array with tenferro's operators."""
    return value if isinstance(value, Tensor | TracedTensor) else Tensor(value)


def promoted(meta: TensorMeta, weak: Number | None, goal: TensorMeta) -> bool:
    """Whether a leaf differs from `goal` only in a weak dtype, which yields to that of `goal`."""
    return (
        weak is not None
        and meta.dtype != goal.dtype
        and meta.extents == goal.extents
        and common_dtype(goal.dtype, weak) == goal.dtype
    )


def with_arrays(tree: PyTree) -> PyTree:
    """The tree with arrays in the places of numbers."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, list(map(as_array, leaves)))


def in_python(*values: Any) -> bool:
    """Whether Python runs a loop or branch that depends on these values, if it knows them."""
    return jit_is_disabled.get() and all(
        not isinstance(value, TracedTensor) or value.elements is not None for value in values
    )


def require_exact(meta: TensorMeta, name: str, caller: str) -> None:
    """Raise UnsupportedDynamicShapeError if data decide a size of the value `name`."""
    for axis, extent in enumerate(meta.extents):
        if not isinstance(extent, Exact):
            observed = describe(extent)
            raise UnsupportedDynamicShapeError(
                caller,
                f"{name}: shape[{axis}]",
                observed,
                f"{caller}: {name} is {meta}, whose axis {axis} is {observed}; keep the size "
                "and mask, or take the loop out of the program",
            )


def _converted(value: Any, meta: TensorMeta) -> Any:
    if is_number(value):
        return np.asarray(value, meta.dtype)
    if isinstance(value, TracedTensor) and value.dtype != meta.dtype:
        key = emit_function(TraceEmitter(user_site()), convert, value.key, dtype=meta.dtype)
        return TracedTensor(key, None, value.scope)
    return value


def _meta(value: Any, where: str, path: str) -> TensorMeta:
    """The type of a leaf, without what is known of its numbers: other iterations have others."""
    caller, _, root = where.partition(": ")
    if isinstance(value, TracedTensor):
        value.in_use(f"{where}{path}")
    meta = meta_of_value(value)
    if meta is None:
        raise PytreeError(
            f"{where}{path} is {class_of(value)}, not an array or number"
            f"{registering(value) or '; let the function close over it instead'}"
        )
    require_exact(meta, f"{root}{path}", caller)
    return plain([meta])[0]


# Tracing the functions of loops and branches, and what they close over.


class NoResultError(ControlFlowError):
    """A body has effects and returns no array that would need them; it is to return another one."""


def with_result(function: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """The function, which returns a number too."""
    return functools.wraps(function)(lambda *args, **kwargs: (function(*args, **kwargs), 0))


Call = tuple[Sequence[Any], Mapping[str, Any]]
"""The positional and the named arguments of a function."""


class Bodies:
    """Traces the functions of one loop or branch, which errors call `caller`.

    Attributes:
        caller: the function that users call.
        start: the age of a graph value that is older than all bodies.
        in_trace: whether the loop or branch is part of a function that is traced.
        tracked: the tensors that the functions read though eager runtimes track them.
        functions: the functions that have been traced.
        traces: their traces.
        have_effects: whether one of the functions has effects.
    """

    def __init__(self, caller: str) -> None:
        around = current_trace()
        self.caller = caller
        self.start = fresh_input(_SCALAR, "start").serial
        self.in_trace = around is not None
        readable = None if around is None else around.tracked
        self.tracked: dict[int, Any] = {} if readable is None else readable
        self.functions: list[Callable[..., Any]] = []
        self.traces: list[TraceContext] = []
        self.have_effects = False

    @property
    def packages(self) -> list[Package]:
        """The packages of extension families that the functions require."""
        return [package for trace in self.traces for package in trace.packages]

    @property
    def limit(self) -> MemoryLimit | None:
        """The smallest memory limit that the functions require."""
        return tighter([trace.limit for trace in self.traces])

    @property
    def compiled(self) -> Any:
        """A function that is compiled, or the first compiled one that they call; None without."""
        named = (each for each in self.functions if compiled_within(each) is not None)
        called = (each.compiled for each in self.traces if each.compiled is not None)
        return next(named, next(called, None))

    def trace(
        self,
        name: str,
        function: Callable[..., Any],
        metas: Sequence[TensorMeta],
        weak: Sequence[Number | None],
        arguments: Callable[[list[TracedTensor]], Call],
        passed: Sequence[Any] = (),
        of: Callable[..., Any] | None = None,
        has_rule: bool = False,
    ) -> Trace:
        """Trace a function, which errors call `name`, on `arguments` with leaves of given types.

        `passed` are the values from which those of the first iteration are made, for errors. `of`
        is the function of the user that `function` calls, if it is another one. A function that
        `has_rule` for its derivatives is called on the `passed` values alone, and may ask for their
        elements.
        """
        inputs: list[GlobalValKey] = [
            fresh_input(meta, f"{name}{place}") for place, meta in enumerate(metas)
        ]
        if has_rule:
            for key, value in zip(inputs, passed, strict=True):
                source = value.key if isinstance(value, TracedTensor) else value
                declare_elements(key, source, has_rule=True)
        context = TraceContext(of or function, self.tracked)
        context.seed = inputs[0] if inputs else None
        self.traces.append(context)
        self.functions.append(of or function)
        context.arguments = list(zip(inputs, passed, strict=False))

        def read(result: Any) -> Trace:
            if context.effects:
                if not context.had_effects:
                    raise NoResultError(
                        f"{self.caller}: {name} has effects and returns no array that needs them; "
                        "return one"
                    )
                self.have_effects = True
            leaves, tree = flatten(result)
            outputs = [self._output(leaf, name, result, i) for i, leaf in enumerate(leaves)]
            weak = list(map(weak_leaf, leaves))
            return Trace(
                context,
                inputs,
                outputs,
                tree,
                weak,
                axes=axes_within(outputs) if context.varies else (),
            )

        args, kwargs = arguments(traced_values(inputs, context, weak))
        return trace(context, function, args, kwargs, read, f"{name} of {self.caller}")

    def _output(self, leaf: Any, name: str, result: Any, position: int) -> GlobalValKey:
        if isinstance(leaf, TracedTensor):
            if leaf.scope is not None and leaf.scope is not self.traces[-1]:
                self.traces[-1].inner_of_two(leaf.scope)
            return leaf.in_use(self.caller)
        if meta_of_value(leaf) is None:
            path = leaf_names(result, "")[position]
            if self.caller in ("map", "fori_loop"):  # what the user's function returns is paired
                path = path.removeprefix("[1]")
            raise PytreeError(
                f"{self.caller}: {name} returns {class_of(leaf)}{path and f' at {path}'}, "
                f"not an array or number{registering(leaf)}"
            )
        return capture(leaf if isinstance(leaf, Tensor | np.ndarray) else Tensor(leaf))

    def closed_over(self, *bodies: Trace) -> list[GlobalValKey]:
        """The values that the bodies read and did not make, in the order in which they are met.

        These are inputs, and all that is older than the bodies. Constants are not among them.
        """
        outputs: list[GlobalValKey] = []
        inputs: list[GlobalValKey] = []
        for body in bodies:
            outputs += body.outputs
            inputs += body.inputs
        read = closed_over(outputs, inputs, self.start, self.in_trace)
        for key in read:
            require_exact(type_of(key), "a value that the function closes over", self.caller)
        return read

    def is_closed(self, consts: Sequence[GlobalValKey]) -> bool:
        """Whether bodies that close over `consts` are the same wherever they are traced.

        They are not if they read values of traces around them, or tensors of eager runtimes, use
        named axes, or have effects.
        """
        captured = all(
            isinstance(key, Input) and isinstance(key.key, CapturedArray) for key in consts
        )
        return (
            captured
            and not (self.tracked or self.have_effects)
            and not any(
                trace.read or trace.uses_axes or trace.varies or trace.guards
                for trace in self.traces
            )
        )

    def scope_of(self, operands: Sequence[Any]) -> TraceContext | None:
        """The trace of results that depend on the operands and on what the bodies close over."""
        around: set[TraceContext | None] = set()
        for body in self.traces:
            around |= body.read
        for operand in operands:
            if isinstance(operand, TracedTensor):
                around.add(operand.scope)
        return innermost(around.difference(self.traces))

    def program(self, name: str, consts: Sequence[GlobalValKey], body: Trace) -> ExecProgram:
        """The program of a body, which takes `consts` first."""
        program = program_of([*consts, *body.inputs], body.outputs)
        for step, meta in program.results():
            for extent in meta.extents:
                if not isinstance(extent, Exact):
                    place = step.op.name if step.site is None else f"{step.op.name}, {step.site}"
                    what = "the body" if name in ("f", "body_fun") else name
                    raise UnsupportedDynamicShapeError(
                        self.caller,
                        what,
                        describe(extent),
                        f"{self.caller}: {what} makes a value whose size data decide ({place}); "
                        "keep the size and mask, or take the loop out of the program",
                    )
        return program


_SCALAR = TensorMeta(BOOL, ())


def require_function(caller: str, name: str, function: object) -> None:
    """Raise ControlFlowError unless an argument is a function."""
    if not callable(function):
        raise ControlFlowError(f"{caller}: {name} must be a function, got {class_of(function)}")


# Applying an op that holds programs: recorded, in an eager runtime, or run at once.


def is_recorded(operands: Sequence[Any]) -> bool:
    """Whether an op on values of users is recorded, and not computed at once."""
    kinds = set(map(type, operands))
    return TracedTensor in kinds or (is_tracing() and EagerTensor not in kinds)


def operands_of(consts: Sequence[GlobalValKey]) -> list[Any]:
    """What bodies close over, as operands: captured arrays stay graph values."""
    operands: list[Any] = []
    for key in consts:
        source = key.key if isinstance(key, Input) else None
        if isinstance(source, EagerCapture):
            operands.append(source.tensor)
        else:
            operands.append(key if isinstance(source, CapturedArray) else TracedTensor(key))
    return operands


def run(op: ControlOp, operands: Sequence[Any], bodies: Bodies) -> list[Any]:
    """The results of an op on values of users and on captured arrays."""
    if not op.n_outputs:
        return []
    if is_recorded(operands):
        read = tuple(map(_key_of, operands))
        keys = annotate(op_key(op, read, PRIMAL, user_site()))
        if bodies.have_effects:
            note_effects(bodies, keys)
        on = op.passed_on
        made = [read[on[place]] if place in on else key for place, key in enumerate(keys)]
        return traced_values(made, bodies.scope_of(operands))
    if any(isinstance(operand, EagerTensor) for operand in operands):
        result: Any = apply(OpFunction(op), *map(_array_of, operands))
        return list(result) if op.n_outputs > 1 else [result]
    inputs = [_input_of(operand) for operand in operands]
    passed = [number for number, key in enumerate(inputs) if key is not operands[number]]
    results = Evaluation(
        [inputs[number] for number in passed],
        [operands[number] for number in passed],
        False,
        bodies.compiled,
        bodies.packages,
        bodies.limit,
    )
    return results.of(op_key(op, tuple(inputs), PRIMAL, user_site()).outputs)


def note_effects(bodies: Bodies, results: Sequence[GlobalValKey]) -> None:
    """Say that a result of bodies with effects is to be computed in any case."""
    trace = current_trace()
    if trace is None or not results:
        return
    small = min(results, key=lambda key: len(type_of(key).extents))
    trace.effects.append(small)
    if any(each.last is not None for each in bodies.traces):
        trace.last = small


def _key_of(operand: Any) -> GlobalValKey:
    if isinstance(operand, GlobalValKey):
        return operand
    return capture(operand) if isinstance(operand, np.ndarray) else as_key(operand)


def _input_of(operand: Any) -> GlobalValKey:
    """A captured array, or a new input of a graph for an operand."""
    if isinstance(operand, GlobalValKey):
        return operand
    return fresh_input(leaf_meta(operand, "operand"), "operand")


def _array_of(operand: Any) -> Any:
    """An operand as an array for an eager runtime, which moves those on the host to its device."""
    if not isinstance(operand, Input):
        return operand
    captured: Any = operand.key
    return captured.tensor
