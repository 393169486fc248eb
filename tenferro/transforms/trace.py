"""Trace a function on fresh inputs to a closed graph.

The arguments of a transform are always new values. Otherwise an argument could be the same node as
an equal value in the function's closure. If a traced value is passed, the argument is an `Argument`
node on that value, which does not equal any other node. As an op it is the identity: results of the
transform may read it, it can be differentiated, and lowering removes it. Therefore the graph is not
rewritten when a transform ends.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from tenferro.compiler import MemoryLimit
from tenferro.config import RULES_OF_JAX, RULES_OF_PROCESS, rules_here
from tenferro.core import (
    PRIMAL,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    KeyEmitter,
    ResolvedView,
    SingleOutputNode,
    filtered,
    op_key,
    raising_site,
    resolve_keys,
    user_site,
)
from tenferro.errors import DTypeError, PytreeError, UnsupportedDynamicShapeError, class_of
from tenferro.ir import (
    INT64,
    AnyTensor,
    DimExpr,
    DType,
    Number,
    PyTree,
    ShapeGuardContext,
    TensorMeta,
    as_dtype,
    fresh_input,
    type_of,
)
from tenferro.ops import After, Argument, StdTensorOp, shape_context
from tenferro.ops.control_flow import plain
from tenferro.ops.extension import Package
from tenferro.ops.functions import convert, emit_function, entering, promote
from tenferro.runtime import (
    NamedAxis,
    Tensor,
    TraceContext,
    current_trace,
    innermost,
    is_array,
    meta_of_value,
    narrowed,
    require_limit,
    require_packages,
    weak_number,
)
from tenferro.transforms.data_sizes import as_sized_op, named
from tenferro.transforms.known_elements import declare_elements
from tenferro.transforms.traced_tensor import (
    CapturedArray,
    TracedTensor,
    TraceEmitter,
    argument_names,
    as_key,
    capture,
    record,
    split_result,
)
from tenferro.transforms.trees import TreeDef, flatten, registering, shown, unflatten

__all__ = [
    "RecordedCall",
    "Trace",
    "also_for_data_sizes",
    "argument",
    "is_traced",
    "leaf_meta",
    "substitute_keys",
    "trace",
    "trace_function",
    "traced_values",
    "with_arguments_replaced",
    "without_arguments",
]


# Arguments of transforms: new values that stand for the values that were passed.

_numbers = itertools.count()


def argument(value: GlobalValKey) -> GlobalValKey | None:
    """A new argument that stands for `value`.

    None if simplifications need the op that computed the value, as for constants. The argument
    should then be an input, which is replaced by the value afterwards. Where derivatives ask along
    which named axes a value differs, the argument tells it, as it depends on the value.
    """
    if isinstance(value, SingleOutputNode) and cast(StdTensorOp, value.primitive).transparent:
        around = current_trace()
        if around is None or not around.varies:
            return None
    return op_key(Argument(next(_numbers)), (value,)).output(0)


# Replacing values of a graph by others, and arguments by the passed values.

_WITHOUT_RULES = shape_context()


def substitute_keys(
    outputs: Sequence[GlobalValKey | None],
    replacement: Mapping[GlobalValKey, GlobalValKey],
    ctx: ShapeGuardContext,
) -> list[GlobalValKey | None]:
    """`outputs` with every value of `replacement` replaced in all ops. None stays None.

    New ops are simplified as they are emitted. Ops that do not depend on a replaced value stay the
    same nodes.
    """
    present = [key for key in outputs if key is not None]
    oldest = min([key.serial for key in replacement], default=0)
    ops = _needed(present, replacement, oldest)
    new = _rewritten(ops, replacement, ctx, lambda argument: False)
    return [None if key is None else new.get(key, key) for key in outputs]


def without_arguments(outputs: Sequence[GlobalValKey]) -> list[GlobalValKey]:
    """The outputs with all arguments replaced by the passed values."""
    new = _rewritten(_needed(outputs), {}, _WITHOUT_RULES, lambda argument: True)
    return [new.get(key, key) for key in outputs]


def with_arguments_replaced(
    outputs: Sequence[GlobalValKey], ops: Sequence[GlobalOpKey]
) -> list[GlobalValKey]:
    """The outputs of a function; arguments are replaced if their values are also read elsewhere.

    Without the replacement, equal values could be in the graph twice, and would be differentiated
    twice. `ops` are those that the outputs need. Arguments of functions that are still being traced
    are not replaced.
    """
    closed = [op for op in ops if type(op.primitive) is Argument and not op.primitive.is_open]
    if not closed:
        return list(outputs)
    passed = [op.inputs[0] for op in closed]
    read = {key for op in set(ops).difference(closed) for key in op.inputs}
    if len(set(passed)) == len(passed) and read.isdisjoint(passed):
        return list(outputs)
    new = _rewritten(ops, {}, _WITHOUT_RULES, lambda argument: not argument.is_open)
    return [new.get(key, key) for key in outputs]


def _needed(
    outputs: Sequence[GlobalValKey], leaves: Iterable[GlobalValKey] = (), since: int = 0
) -> list[GlobalOpKey]:
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order(outputs, leaves, since)
    return ops


def _rewritten(
    ops: Iterable[GlobalOpKey],
    replacement: Mapping[GlobalValKey, GlobalValKey],
    ctx: ShapeGuardContext,
    replaces: Callable[[Argument], bool],
) -> dict[GlobalValKey, GlobalValKey]:
    """The new value of each value that is replaced, or depends on one that is.

    `replaces` tells whether to replace an argument by the passed value. Ops are simplified where
    they read a replaced value, or what became another op: all others were when they were emitted.
    """
    emitter = KeyEmitter(ctx)
    new = dict(replacement)
    same_types = all(
        key.analysis is not None and key.analysis == value.analysis
        for key, value in replacement.items()
    )
    read_by_rules = set(replacement)
    for op in ops:
        primitive, inputs = cast(Any, op.primitive), op.inputs
        if type(primitive) is Argument:
            (passed,) = inputs
            if replaces(primitive) or (passed in new and not primitive.is_open):
                new[op.output(0)] = new.get(passed, passed)
                read_by_rules.add(op.output(0))
            continue
        if new.keys().isdisjoint(inputs):
            continue
        operands = tuple([new.get(key, key) for key in inputs])
        if same_types and read_by_rules.isdisjoint(inputs):
            node = op_key(primitive, operands, PRIMAL, op.site)
            new.update(zip(op.outputs, node.outputs, strict=True))
            continue
        emitter.site = op.site
        values = emitter.emit_all(primitive, *operands)
        new.update(zip(op.outputs, values, strict=True))
        if primitive.transparent or [*map(_made_by, values)] != [primitive] * len(values):
            read_by_rules.update(op.outputs)
    return new


def _made_by(value: GlobalValKey) -> object:
    """The op that computes a value."""
    return value.op.primitive if isinstance(value, Derived) else None


# Tracing a Python function on fresh inputs.

P = ParamSpec("P")
R = TypeVar("R")


def trace(
    context: TraceContext,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    read: Callable[[Any], R],
    within: str | None = None,
    has_results: bool = True,
) -> R:
    """What `read` makes of the result of a function that is called in a new trace.

    An error of the function gets a note that it was raised `within` something; without it, the
    traceback loses the frames of this package. Unless the trace `has_results` of its own, its
    effects are those of the enclosing trace.
    """
    with context:
        context.call = function, args, kwargs
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            if within is None:
                raise filtered(error)  # noqa: B904  # it is the same error
            site = raising_site(error)
            error.add_note(f"raised in {within}{'' if site is None else f', at {site}'}")
            raise
        return read(_after_effects(context, result) if context.effects and has_results else result)


def _after_effects(context: TraceContext, result: Any) -> Any:
    """The result of a function, whose arrays need the effects of the function to be computed.

    Arrays that are known need them only if no others do. If there is no array, the effects stay in
    the context.
    """
    leaves, tree = flatten(result)
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, TracedTensor)]
    places = places or [at for at, leaf in enumerate(leaves) if meta_of_value(leaf) is not None]
    if not places:
        return result
    emitter = TraceEmitter(user_site())
    first, *rest = context.effects
    token = emitter.emit(After(len(rest)), first, *rest) if rest else first
    scope = None if context.name is None else context
    for at in places:
        key = emitter.emit(After(1), as_key(leaves[at]), token)
        leaves[at] = TracedTensor(key, weak_number(leaves[at]), scope)
    context.had_effects = True
    return unflatten(tree, leaves)


@dataclass(frozen=True, slots=True)
class AuxTree:
    """A tree of graph values and of other Python values, such as an auxiliary result.

    Attributes:
        keys: the graph values among the leaves.
        weak: for each whose dtype yields to that of arrays a number of its kind, else None.
    """

    leaves: list[Any]
    tree: TreeDef

    keys: list[GlobalValKey]
    weak: list[Number | None]

    @classmethod
    def of(cls, result: PyTree) -> AuxTree:
        """What a function returned."""
        leaves, tree = flatten(result)
        traced = [leaf for leaf in leaves if isinstance(leaf, TracedTensor)]
        return cls(leaves, tree, [each.key for each in traced], [each.weak for each in traced])

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The tree with `values` in place of the traced leaves."""
        computed = iter(values)
        return unflatten(
            self.tree,
            [next(computed) if isinstance(leaf, TracedTensor) else leaf for leaf in self.leaves],
        )


_NO_AUX = AuxTree.of(None)
_SOURCE = attrgetter("key")


@dataclass(slots=True)
class Trace:
    """A function traced on new values.

    Attributes:
        context: says what the function requires of the program.
        inputs: the new value for each traced leaf of the arguments.
        outputs: the graph value of each leaf of the result.
        tree: the structure of the result.
        weak: for each output whose dtype yields to that of arrays a number of its kind, else None;
            of bodies only, as the rest is of functions that users transform only.
        input_at: the inputs, by the position of the leaf among all leaves.
        aux: the auxiliary result.
        outer: whether the function read values of an enclosing trace.
        effects: values that are to be computed too, for the effects of their ops.
        bare: whether the function has effects, and returns no array that needs them.
        axes: for each output the named axes along which devices differ in it; of bodies only.
    """

    context: TraceContext
    inputs: list[GlobalValKey]
    outputs: list[GlobalValKey]
    tree: TreeDef
    weak: Sequence[Number | None] = ()
    input_at: dict[int, GlobalValKey] = field(default_factory=dict)
    aux: AuxTree = _NO_AUX
    outer: bool = False
    effects: Sequence[GlobalValKey] = ()
    bare: bool = False
    axes: Sequence[frozenset[str]] = ()

    @property
    def metas(self) -> list[TensorMeta]:
        """The types of the outputs, without what is known of the numbers."""
        return list(plain(map(type_of, self.outputs)))

    def convert(self, position: int, dtype: DType) -> None:
        """Convert an output."""
        self.outputs[position] = emit_function(
            TraceEmitter(), convert, self.outputs[position], dtype=dtype
        )

    def __str__(self) -> str:
        """The types of what the function returns."""
        return shown(self.tree, self.metas)


def trace_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    has_aux: bool = False,
    active: Container[int] | None = None,
    nested: bool = True,
    passed: Sequence[Any] | None = None,
    checks_sizes: bool = False,
    axes: Iterable[NamedAxis] = (),
    has_elements: bool = False,
) -> tuple[Trace, list[Any]]:
    """Trace `function` on new values like the leaves of the arguments; also return the leaves.

    `active` are the positions of leaves that must be arrays; None means all of them. Other leaves
    that are not arrays are passed to the function unchanged. Unless `nested`, only the types of
    values of an enclosing trace are used. Errors take the leaves for `passed`, if it is given. What
    the function assumes of sizes is handed to the enclosing trace, unless `checks_sizes`: then it
    is about names in the types of the leaves, which a program of its own checks. If it
    `has_elements`, the graph is for these arguments alone, and the function may ask for elements.

    Raises:
        PytreeError: a leaf that must be an array, or a leaf of the result, is not one.
    """
    leaves, treedef = flatten((args, dict(kwargs)))
    if (rules_here.get() or RULES_OF_PROCESS[0]) is RULES_OF_JAX:
        leaves = list(map(narrowed, leaves))
    names = argument_names(function, args, kwargs)
    input_at: dict[int, GlobalValKey] = {}
    values = list(leaves)
    context = TraceContext(function, checks_sizes=checks_sizes, axes=axes)
    for position, (leaf, name) in enumerate(zip(leaves, names, strict=True)):
        if active is None or position in active or is_array(leaf):
            meta = leaf_meta(leaf, f"argument {name}")
            value = leaf.in_use(f"argument {name}") if isinstance(leaf, TracedTensor) else None
            key = None if value is None or not nested else argument(value)
            key = input_at[position] = fresh_input(meta, name) if key is None else key
            if has_elements:
                is_active = active is None or position in active
                declare_elements(key, leaf if value is None else value, is_active)
            values[position] = TracedTensor(key, weak_number(leaf), context)
    sources = leaves if passed is None else passed
    inputs = list(input_at.values())
    context.arguments = list(zip(inputs, map(sources.__getitem__, input_at), strict=True))

    def read(result: Any) -> Trace:
        aux = _NO_AUX
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise PytreeError("has_aux: the function must return a pair (result, aux)")
            result, aux_result = result
            aux = AuxTree.of(aux_result)
        parts, tree = flatten(result)
        outputs = list(map(_output_key, parts, itertools.count()))
        view: ResolvedView[StdTensorOp] = resolve_keys()
        bound = [*inputs, *(axis.index for axis in context.axes)] if context.axes else inputs
        values = [*outputs, *aux.keys, *context.effects]
        ops, met = view.topo_order(values, leaves=bound)
        outer = not set(map(type, map(_SOURCE, met))) <= {CapturedArray}
        count = len(outputs)
        outputs = with_arguments_replaced([*outputs, *context.effects], ops)
        outputs, effects = outputs[:count], outputs[count:]
        bare = bool(effects) and not context.had_effects
        return Trace(context, inputs, outputs, tree, (), input_at, aux, outer, effects, bare)

    args, kwargs = unflatten(treedef, values)
    traced_leaves = list(map(leaves.__getitem__, input_at))
    return trace(context, function, args, kwargs, read), traced_leaves


def leaf_meta(leaf: Any, name: str) -> TensorMeta:
    """The type of an array leaf.

    Raises:
        PytreeError: the leaf is neither an array nor a number.
        DTypeError: elements of the array are masked, or of a dtype that is not supported.
    """
    meta = meta_of_value(leaf)
    if meta is None:
        if isinstance(leaf, np.ndarray | np.generic):
            try:
                as_dtype(leaf.dtype)
            except DTypeError as error:
                raise DTypeError(f"{name}: {error}") from None
        advice = registering(leaf) or entering(leaf)
        if not advice and name.startswith("argument"):
            advice = _advice(leaf, name.removeprefix("argument "))
        raise PytreeError(f"{name} is {_what(leaf)}{advice}")
    return meta


def _advice(leaf: Any, name: str) -> str:
    for kind in (list, tuple, dict):
        if isinstance(leaf, kind):
            register = "register its class with tn.tree_util.register_pytree_node"
            return f"; {register}, or pass a {kind.__name__}"
    if callable(leaf) and not name.isidentifier():
        return (
            "; pass the arrays of the tree alone, and let the function add the rest, as "
            "eqx.partition and eqx.combine do for modules of Equinox"
        )
    return "; make it static, or leave it out of the arguments"


def _what(leaf: Any) -> str:
    """What a leaf is that is not an array: its class, and the dtype if it is an array of others."""
    if isinstance(leaf, int):
        return "an integer that does not fit in 64 bits"
    dtype = getattr(leaf, "dtype", None)
    of_type = "" if dtype is None else f" of dtype {dtype}"
    return f"{class_of(leaf)}{of_type}, not an array or number"


def traced_values(
    keys: Iterable[GlobalValKey | None],
    scope: TraceContext | None,
    weak: Iterable[Number | None] = itertools.repeat(None),
) -> list[Any]:
    """Graph values as users see them. None stays None."""
    pairs = zip(keys, weak, strict=False)
    return [None if key is None else TracedTensor(key, number, scope) for key, number in pairs]


def is_traced(leaves: Sequence[Any]) -> bool:
    """Whether any leaf is a value of a current trace."""
    return TracedTensor in set(map(type, leaves))


def _output_key(leaf: Any, position: int) -> GlobalValKey:
    if isinstance(leaf, TracedTensor):
        return leaf.in_use(f"result leaf {position}")
    if isinstance(leaf, DimExpr):
        return cast(GlobalValKey, record(_as_value, (leaf,), {}).key)
    leaf_meta(leaf, f"result leaf {position}")
    return capture(leaf if isinstance(leaf, Tensor | np.ndarray) else Tensor(leaf))


def _as_value(size: DimExpr) -> AnyTensor:
    return promote((size,), INT64)[0]


# Calls of a function that are recorded once, and repeated in other traces.


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """What a function computes of traced values, recorded on inputs of its own.

    Attributes:
        inputs: the input for each traced leaf of the arguments.
        ops: the ops that the results and the effects need, in order.
        result: what the function returned.
        packages: the packages of extension families that the executor must have.
        limit: the memory limit that the program must keep.
        read: the enclosing traces whose values the function read.
        effects: values that are to be computed too, after those of the enclosing trace.
        last: the last of the effects of both that have an order.
        is_closed: whether later calls compute the same. They do not if the function has effects,
            reads values of an enclosing trace, or returns anything but tensors and constants of
            Python.
        in_place: whether this call cannot be repeated on other values: the function has named sizes
            or such that data decide, or uses a named axis of an enclosing trace.
    """

    inputs: Sequence[GlobalValKey]
    ops: Sequence[GlobalOpKey]
    result: AuxTree
    packages: Sequence[Package]
    limit: MemoryLimit | None
    read: frozenset[TraceContext]
    effects: Sequence[GlobalValKey]
    last: GlobalValKey | None
    is_closed: bool
    in_place: bool

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> RecordedCall:
        """Call a function on new values like the traced leaves of the arguments.

        Its effects follow on those of the enclosing trace.
        """
        leaves, treedef = flatten((args, dict(kwargs)))
        names = argument_names(function, args, kwargs)
        values, inputs, arguments = list(leaves), [], []
        context = TraceContext(function)
        if (around := current_trace()) is not None:
            context.effects, context.last = [*around.effects], around.last
            context.seed = around.seed
        first = len(context.effects)
        for place, (leaf, name) in enumerate(zip(leaves, names, strict=True)):
            if isinstance(leaf, TracedTensor):
                key = fresh_input(leaf.meta, name)
                values[place] = TracedTensor(key, leaf.weak, context)
                inputs.append(key)
                arguments.append((key, leaf))
        context.arguments = arguments
        args, kwargs = unflatten(treedef, values)
        result = trace(context, function, args, kwargs, AuxTree.of, has_results=False)
        scopes = [leaf.scope for leaf in result.leaves if isinstance(leaf, TracedTensor)]
        read = context.read.union(scope for scope in scopes if scope is not None)
        view: ResolvedView[StdTensorOp] = resolve_keys()
        effects = context.effects[first:]
        ops, met = view.topo_order([*result.keys, *effects], leaves=inputs)
        sized = any(type_of(key).static_shape is None for op in ops for key in op.outputs)
        in_place = bool(context.uses_axes or context.guards or sized)
        is_closed = (
            not effects
            and {type(leaf) for leaf in result.leaves} <= _UNCHANGING
            and set(map(type, map(_SOURCE, met))) <= {CapturedArray}
            and not any(type(op.primitive) is Argument and op.primitive.is_open for op in ops)
        )
        return cls(
            inputs,
            ops,
            result,
            context.packages,
            context.limit,
            frozenset(read - {context}),
            effects,
            context.last,
            is_closed,
            in_place,
        )

    def stored(self) -> RecordedCall:
        """What later calls need: one that cannot be repeated holds no graph."""
        if self.is_closed and not self.in_place:
            return self
        return RecordedCall((), (), _NO_AUX, (), None, frozenset(), (), None, False, self.in_place)

    def on(self, values: Sequence[TracedTensor]) -> Any:
        """The result for these values in the place of the inputs."""
        require_packages(self.packages)
        require_limit(self.limit)
        passed = dict(zip(self.inputs, map(as_key, values), strict=True))
        new = _rewritten(self.ops, passed, _WITHOUT_RULES, lambda argument: False)
        scope = innermost([*self.read, *(value.scope for value in values)])
        around = current_trace()
        if around is not None and self.effects:
            around.effects += [new.get(key, key) for key in self.effects]
            around.last = None if self.last is None else new.get(self.last, self.last)
        keys = [new.get(key, key) for key in self.result.keys]
        return self.result.rebuild(traced_values(keys, scope, self.result.weak))


_UNCHANGING = frozenset([TracedTensor, Tensor, int, float, complex, bool, str, type(None)])


# Functions of sizes that data decide, traced for named sizes.


def also_for_data_sizes(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which is called again for named sizes if it needs one that data decide.

    See `as_sized_op`; the function may take and return trees of arrays.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UnsupportedDynamicShapeError as error:
            try:
                return cast(
                    R,
                    as_sized_op(
                        lambda: function(*named(args), **named(kwargs)),
                        split_result,
                        user_site(),
                        (args, kwargs),
                    ),
                )
            except UnsupportedDynamicShapeError:
                raise error from None

    return called
