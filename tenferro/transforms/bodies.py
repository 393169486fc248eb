"""Bodies of loops and branches, traced on typed leaves.

A function closes over the graph values that it reads and that are older than its trace: what it
computes itself, also of such values alone, stays in its program, so that a branch that is not
taken does not compute it. Constants stay inside. Captured arrays above the limit of literals are
inputs of the graph, and become operands; so do tensors that an eager runtime tracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tenferro.compiler import MemoryLimit, tighter
from tenferro.core import PRIMAL, Derived, GlobalValKey, Input, op_key, raising_site, user_site
from tenferro.errors import ControlFlowError, PytreeError, UnsupportedDynamicShapeError
from tenferro.ir import (
    BOOL,
    DType,
    Exact,
    ExecOp,
    ExecProgram,
    Number,
    PyTree,
    TensorMeta,
    annotate,
    describe,
    fresh_input,
    type_of,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.control_flow import program_of
from tenferro.ops.extension import Package
from tenferro.ops.functions import OpFunction, apply, convert, emit_function, is_number
from tenferro.runtime import (
    Tensor,
    bring_limit,
    bring_packages,
    collecting_limits,
    collecting_packages,
    meta_of_value,
    weak_number,
)
from tenferro.transforms.eager_tensor import EagerTensor
from tenferro.transforms.program import Results, compiled_within
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.trace_context import Scope, innermost, is_tracing, tracing
from tenferro.transforms.traced_tensor import (
    CapturedArray,
    TracedTensor,
    TraceEmitter,
    TrackedTensor,
    as_key,
    capture,
    capturing_tracked,
)
from tenferro.transforms.trees import TreeDef, flatten, leaf_names, registering, unflatten

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
        return [
            _converted(value, meta) for value, meta in zip(self.values, self.metas, strict=True)
        ]

    def __str__(self) -> str:
        """The tree with the types of its leaves: `(f64[2], i64[])`."""
        return shown(self.tree, self.metas)


def leaves_of(tree: PyTree, where: str) -> Leaves:
    """The leaves of a tree. Errors call it `where`: `scan: init`.

    Raises:
        PytreeError: a leaf is neither an array nor a number.
        TracingError: the trace that a leaf belongs to has ended.
        UnsupportedDynamicShapeError: data decide the size of a leaf.
    """
    values, treedef = flatten(tree)
    paths = leaf_names(tree, "")
    metas = [_meta(value, where, path) for value, path in zip(values, paths, strict=True)]
    weak = [weak_leaf(value) for value in values]
    return Leaves(values, treedef, [path or "[0]" for path in paths], metas, weak)


def shown(tree: TreeDef, metas: Iterable[TensorMeta]) -> str:
    """A tree of types: `(f64[2], i64[])`."""
    return repr(unflatten(tree, [_Shown(meta) for meta in metas]))


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
        and np.result_type(goal.dtype, weak) == goal.dtype
    )


def require_exact(metas: Sequence[TensorMeta], names: Sequence[str], caller: str) -> None:
    """Raise UnsupportedDynamicShapeError if data decide a size; `names` are those of the values."""
    for meta, name in zip(metas, names, strict=True):
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
    """The type of a leaf, without what is known of its numbers: other rounds have others."""
    caller, _, root = where.partition(": ")
    if isinstance(value, TracedTensor):
        value.in_use(f"{where}{path}")
    meta = meta_of_value(value)
    if meta is None:
        raise PytreeError(
            f"{where}{path} is a {type(value).__name__}, not an array or number"
            f"{registering(value) or '; let the function close over it instead'}"
        )
    require_exact([meta], [f"{root}{path}"], caller)
    return TensorMeta(meta.dtype, meta.extents)


class _Shown:
    """A type in the place of a leaf."""

    def __init__(self, meta: TensorMeta) -> None:
        self._meta = meta

    def __repr__(self) -> str:
        return str(self._meta)


# Tracing the functions of loops and branches, and what they close over.


@dataclass(slots=True)
class Body:
    """A function, traced at given types.

    Attributes:
        inputs: a new value of a graph for each leaf that the function takes.
        outputs: the value of each leaf that it returns.
        tree: the structure of what it returns.
        weak: for each output whose dtype yields to that of arrays a number of its kind, else None.
    """

    inputs: list[GlobalValKey]
    outputs: list[GlobalValKey]
    tree: TreeDef
    weak: list[Number | None]

    @property
    def metas(self) -> list[TensorMeta]:
        """The types of the outputs."""
        return [TensorMeta(type_of(key).dtype, type_of(key).extents) for key in self.outputs]

    def convert(self, position: int, dtype: DType) -> None:
        """Convert an output."""
        self.outputs[position] = emit_function(
            TraceEmitter(), convert, self.outputs[position], dtype=dtype
        )

    def __str__(self) -> str:
        """The types of what it returns."""
        return shown(self.tree, self.metas)


@dataclass(slots=True)
class Bodies:
    """Traces the functions of one loop or branch; made by `tracing_bodies`.

    Attributes:
        caller: the function that users call.
        start: the age of a graph value that is older than all bodies.
        functions: the functions that have been traced.
        scopes: the scopes of their traces.
        packages: extension families that the functions brought.
        limits: memory limits that they brought.
    """

    caller: str
    start: int
    functions: list[Callable[..., Any]] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    packages: list[Package] = field(default_factory=list)
    limits: list[MemoryLimit] = field(default_factory=list)

    def trace(
        self,
        name: str,
        function: Callable[..., Any],
        metas: Sequence[TensorMeta],
        weak: Sequence[Number | None],
        call: Callable[[list[TracedTensor]], Any],
        passed: Sequence[Any] = (),
    ) -> Body:
        """Trace `call`, which calls the user's `function`, at given types; errors call it `name`.

        `passed` are the values from which those of the first round are made, for errors.

        Raises:
            PytreeError: a leaf of the result is not an array.
        """
        inputs = [fresh_input(meta, f"{name}{i}") for i, meta in enumerate(metas)]
        scope = Scope.of(function)
        self.scopes.append(scope)
        scope.passed = list(zip(inputs, passed, strict=False))
        values = [
            TracedTensor(key, number, scope) for key, number in zip(inputs, weak, strict=True)
        ]
        with collecting_packages() as packages, collecting_limits() as limits, tracing(scope):
            try:
                result = call(values)
            except Exception as error:
                site = raising_site(error)
                place = "" if site is None else f", at {site}"
                error.add_note(f"raised in {name} of {self.caller}{place}")
                raise
            leaves, tree = flatten(result)
            outputs = [self._output(leaf, name, result, i) for i, leaf in enumerate(leaves)]
        self.functions.append(function)
        self.packages += packages
        self.limits += limits
        bring_packages(packages)
        bring_limit(tighter(limits))
        return Body([*inputs], outputs, tree, [weak_leaf(leaf) for leaf in leaves])

    def calling(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of the function that is traced now."""
        return self.scopes[-1].calling(function, *args, **kwargs)

    def _output(self, leaf: Any, name: str, result: Any, position: int) -> GlobalValKey:
        """The graph value of a leaf of a result."""
        if isinstance(leaf, TracedTensor):
            if leaf.scope is not None:
                self.scopes[-1].beside(leaf.scope)
            return leaf.in_use(self.caller)
        if meta_of_value(leaf) is None:
            path = leaf_names(result, "")[position]
            if self.caller in ("map", "fori_loop"):  # what the user's function returns is paired
                path = path.removeprefix("[1]")
            raise PytreeError(
                f"{self.caller}: {name} returns a {type(leaf).__name__}{path and f' at {path}'}, "
                f"not an array or number{registering(leaf)}"
            )
        return capture(leaf if isinstance(leaf, Tensor | np.ndarray) else Tensor(leaf))

    def closed_over(self, *bodies: Body) -> list[GlobalValKey]:
        """The values that the bodies read and did not make, in the order in which they are met.

        These are inputs, and all that is older than the bodies. Constants are not among them.
        """
        seen: set[GlobalValKey] = {key for body in bodies for key in body.inputs}
        stack = [key for body in reversed(bodies) for key in reversed(body.outputs)]
        found: list[GlobalValKey] = []
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if isinstance(key, Input) or self._is_around(key):
                found.append(key)
            else:
                stack += reversed(cast(Derived, key).op.inputs)
        names = ["a value that the function closes over" for _ in found]
        require_exact([type_of(key) for key in found], names, self.caller)
        return found

    def _is_around(self, key: GlobalValKey) -> bool:
        """Whether a value belongs to what is around the bodies.

        Outside any trace, what depends on constants alone is theirs, also if an older trace has
        written it too: equal values are one.
        """
        if key.serial >= self.start or _is_constant(key):
            return False
        return is_tracing() or _reads_an_input(key)

    def scope_of(self, operands: Sequence[Any]) -> Scope | None:
        """The scope of results that depend on the operands and on what the bodies close over."""
        around = {scope for body in self.scopes for scope in body.read}.difference(self.scopes)
        own = (operand.scope for operand in operands if isinstance(operand, TracedTensor))
        return innermost((*own, *around))

    def program(self, name: str, consts: Sequence[GlobalValKey], body: Body) -> ExecProgram:
        """The program of a body, which takes `consts` first.

        Raises:
            UnsupportedDynamicShapeError: data decide the size of a value in it.
        """
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


@contextmanager
def tracing_bodies(caller: str) -> Iterator[Bodies]:
    """A context for tracing the functions of one loop or branch."""
    with capturing_tracked():
        yield Bodies(caller, fresh_input(_SCALAR, "start").serial)


_SCALAR = TensorMeta(BOOL, ())


def require_function(caller: str, name: str, function: object) -> None:
    """Raise ControlFlowError unless an argument is a function."""
    if not callable(function):
        raise ControlFlowError(
            f"{caller}: {name} must be a function, got a {type(function).__name__}"
        )


def _is_constant(key: GlobalValKey) -> bool:
    """Whether a value is a constant, or a constant repeated along new axes."""
    while isinstance(key, Derived):
        op = key.op
        primitive = cast(ExecOp, op.primitive)
        if not op.inputs:
            return True
        if not primitive.repeats or len(op.inputs) != 1:
            return False
        (key,) = op.inputs
    return False


def _reads_an_input(key: GlobalValKey) -> bool:
    """Whether a value depends on more than constants."""
    stack, seen = [key], {key}
    while stack:
        current = stack.pop()
        if isinstance(current, Input):
            return True
        fresh = set(cast(Derived, current).op.inputs) - seen
        stack += fresh
        seen |= fresh
    return False


# Applying an op that holds programs: recorded, in an eager runtime, or run at once.


def is_recorded(operands: Sequence[Any]) -> bool:
    """Whether an op on values of users is recorded, and not computed at once."""
    if any(isinstance(operand, TracedTensor) for operand in operands):
        return True
    return is_tracing() and not any(isinstance(operand, EagerTensor) for operand in operands)


def operands_of(consts: Sequence[GlobalValKey]) -> list[Any]:
    """What bodies close over, as operands: captured arrays stay graph values."""
    operands: list[Any] = []
    for key in consts:
        source = key.key if isinstance(key, Input) else None
        if isinstance(source, TrackedTensor):
            operands.append(source.tensor)
        else:
            operands.append(key if isinstance(source, CapturedArray) else TracedTensor(key))
    return operands


def run(op: StdTensorOp, operands: Sequence[Any], bodies: Bodies) -> list[Any]:
    """The results of an op on values of users and on captured arrays.

    Raises:
        ADError: in a trace, a body reads a tensor that an eager runtime tracks.
    """
    if not op.n_outputs:
        return []
    if is_recorded(operands):
        keys = tuple([_key_of(operand) for operand in operands])
        made = annotate(op_key(op, keys, PRIMAL, user_site()))
        scope = bodies.scope_of(operands)
        return [TracedTensor(key, None, scope) for key in made]
    if any(isinstance(operand, EagerTensor) for operand in operands):
        result: Any = apply(OpFunction(op), *map(_array_of, operands))
        return list(result) if op.n_outputs > 1 else [result]
    inputs = [_input_of(operand) for operand in operands]
    passed = [number for number, key in enumerate(inputs) if key is not operands[number]]
    results = Results(
        [inputs[number] for number in passed],
        [operands[number] for number in passed],
        False,
        next(filter(compiled_within, bodies.functions), None),
        bodies.packages,
        tighter(bodies.limits),
    )
    return results.of(op_key(op, tuple(inputs), PRIMAL, user_site()).outputs)


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
