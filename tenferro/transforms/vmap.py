"""vmap: a function on all entries of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import optree

from tenferro.config import RULES_OF_JAX, RULES_OF_PROCESS, rules_here
from tenferro.core import (
    GlobalValKey,
    Input,
    KeyEmitter,
    ResolvedView,
    batch,
    called_function,
    resolve_keys,
)
from tenferro.errors import (
    BatchingError,
    PytreeError,
    TracingError,
    UnsupportedDynamicShapeError,
    class_of,
    counted,
)
from tenferro.ir import (
    INT32,
    Dim,
    DimExpr,
    Exact,
    PyTree,
    ShapeGuardContext,
    TensorMeta,
    describe,
    fresh_input,
    integer_of,
    same_size,
    type_of,
)
from tenferro.ops import INDEX, Iota, StdTensorOp, Transpose, repeated, shape_context
from tenferro.ops.extension import Package, rules_of, runtime_name
from tenferro.runtime import (
    NamedAxis,
    added_packages,
    builtin_rule,
    current_trace,
    holder_of,
    narrowed,
    over_builtin,
    runs_family,
)
from tenferro.transforms.program import Evaluation, wraps
from tenferro.transforms.trace import also_for_data_sizes, is_traced, leaf_meta, trace_function
from tenferro.transforms.traced_tensor import TracedTensor, argument_names, as_key
from tenferro.transforms.trees import (
    NAMESPACE,
    TreeDef,
    flatten,
    prefix_leaves,
    unflatten,
    with_known_classes,
)

__all__ = ["new_index", "vmap"]


# The axes that `vmap` maps over: `in_axes` and `out_axes` as one entry for each array.


class AxesTree:
    """`in_axes` or `out_axes`: an integer, None, or a tree of these that is a prefix of another."""

    def __init__(self, name: str, axes: Any) -> None:
        self._name = name
        self._axes: Any = optree.tree_map(
            self._leaf, with_known_classes(axes), none_is_leaf=True, namespace=NAMESPACE
        )

    def of(self, tree: Any, what: str) -> list[int | None]:
        """The axis of each leaf of `tree`; `what` names the tree in errors."""
        return prefix_leaves(self._axes, tree, f"vmap: {self._name} does not fit the {what}")

    def of_arguments(self, args: tuple[Any, ...]) -> list[int | None]:
        """The axis of each leaf of the positional arguments."""
        if type(self._axes) is tuple and len(self._axes) != len(args):
            raise PytreeError(
                f"vmap: {self._name} has {counted(len(self._axes), 'entry', 'entries')} for "
                f"{counted(len(args), 'positional argument')}; write one "
                "for each (keyword arguments are mapped over axis 0)"
            )
        return self.of(args, "arguments")

    def _leaf(self, axis: object) -> int | None:
        if axis is None:
            return None
        number = integer_of(axis)
        if number is None:
            raise BatchingError(
                f"vmap: {self._name} must be an integer, None, or a tree of these, got {axis!r}"
            )
        return number


@dataclass(frozen=True, slots=True)
class MappedArgument:
    """An array with the axis that is mapped over.

    Attributes:
        name: the argument, for errors.
        axis: the axis, counted from the front.
        meta: the type of the array.
    """

    name: str
    axis: int
    meta: TensorMeta

    @classmethod
    def of(cls, name: str, meta: TensorMeta, axis: int, entry_rank: int = 0) -> MappedArgument:
        """The array with an axis that may be counted from the end; see `entry_ranks`."""
        place = placed(axis, meta.rank - entry_rank)
        if place is None:
            advice = "" if meta.rank else "; pass an array, or map it over None"
            raise BatchingError(
                f"vmap: in_axes {axis} is out of range for argument {name}: {meta}"
                f"{unmapped(entry_rank)}{advice}"
            )
        extent = meta.extents[place]
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(
                "vmap", f"axis {place} of argument {name}", describe(extent)
            )
        return cls(name, place, meta)

    @property
    def size(self) -> Dim:
        """The size of the axis."""
        return self.meta.extents[self.axis].dim  # type: ignore[union-attr]  # it is exact

    @property
    def entry(self) -> TensorMeta:
        """The type of one entry."""
        extents = self.meta.extents
        return self.meta.with_extents([*extents[: self.axis], *extents[self.axis + 1 :]])

    @property
    def front(self) -> tuple[int, ...]:
        """The order of axes in which the mapped one is the first."""
        return (self.axis, *range(self.axis), *range(self.axis + 1, self.meta.rank))


def entry_ranks(tree: Any) -> list[int]:
    """For each leaf of a tree, how many of its last axes belong to one entry of the leaf's node.

    They are not counted by axes. A type of nodes says so by its attribute `entry_rank`.
    """
    paths = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [getattr(path[-1].type, "entry_rank", 0) if path else 0 for path in paths]


def unmapped(entry_rank: int) -> str:
    """What errors say of last axes that belong to one entry; see `entry_ranks`."""
    if not entry_rank:
        return ""
    last = "axis" if entry_rank == 1 else counted(entry_rank, "axis", "axes")
    return f", whose last {last} cannot be mapped"


def placed(axis: int, rank: int) -> int | None:
    """An axis counted from the front; None if it is out of range."""
    return axis % rank if -rank <= axis < rank else None


def common_size(mapped: Sequence[MappedArgument], axis_size: object) -> Dim:
    """The size of all mapped axes."""
    declared = None if axis_size is None else _declared(axis_size)
    if not mapped:
        if declared is None:
            raise BatchingError("vmap: no argument is mapped; pass axis_size=")
        return declared
    first = mapped[0]
    for other in mapped[1:]:
        if not same_size(Exact(other.size), Exact(first.size)):
            raise BatchingError(
                f"vmap: {_described(first)}, but {_described(other)}; "
                "mapped axes must have one size"
            )
    if declared is not None and not same_size(Exact(declared), Exact(first.size)):
        raise BatchingError(
            f"vmap: {_described(first)}, but axis_size is {declared}; mapped axes must have one "
            "size"
        )
    return first.size


def _described(argument: MappedArgument) -> str:
    return f"argument {argument.name} has size {argument.size} along axis {argument.axis}"


def _declared(size: object) -> Dim:
    if isinstance(size, DimExpr):
        return size
    number = integer_of(size)
    if number is None or number < 0:
        raise BatchingError(f"vmap: axis_size must be an integer of at least 0, got {size!r}")
    return number


# vmap: a function of arrays applied to each entry of batches at once.

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: PyTree = 0,
    out_axes: PyTree = 0,
    axis_name: str | None = None,
    axis_size: int | Dim | None = None,
    spmd_axis_name: str | tuple[str, ...] | None = None,
    *,
    packages: Sequence[Package] = (),
) -> Callable[P, R]:
    """A function that applies `fun` to each entry along an axis of its arguments, at once.

    The function is traced once, for one entry. Its ops are then replaced by ops on all entries.

    Args:
        fun: takes and returns trees of arrays.
        in_axes: the axis of each positional argument to map over: an integer, None for an argument
            that is the same for all entries, or a tree of these that is a prefix of the tuple of
            arguments. Keyword arguments are mapped over axis 0.
        out_axes: the axis of each result along which entries lie: an integer, None for a result
            that does not depend on the mapped axis, or a tree of these that is a prefix of the
            result. Other results that do not depend on the mapped axis are repeated.
        axis_name: a name by which `fun` can use the axis: `tn.lax.psum(x, axis_name)` is the
            sum of x over all entries, and does not depend on the mapped axis.
        axis_size: the number of entries; needed if no argument is mapped.
        spmd_axis_name: the mesh axes that divide the mapped axis; XLA chooses them in any case.
        packages: extension families in addition to tenferro's own, whose batch rules are used.

    Raises:
        BatchingError: an axis is out of range, or sizes of mapped axes differ, or a result that
            depends on the mapped axis has `out_axes` None, or a name is not a string.
        BatchRuleError: an op in the function has no batch rule.
        ExtensionRegistryError: a package is given twice, or is not one.
        PytreeError: `in_axes` or `out_axes` is not a prefix of the arguments or of the result.
        UnsupportedDynamicShapeError: data decide the size of a mapped axis.

    >>> import tenferro as tn
    >>> dot = vmap(lambda x, y: tn.sum(x * y), in_axes=(0, None))
    >>> dot(tn.Tensor([[1.0, 2.0], [3.0, 4.0]]), tn.Tensor([1.0, 10.0]))
    Tensor([21., 43.])
    >>> vmap(lambda x: x / tn.lax.psum(x, "i"), axis_name="i")(tn.Tensor([1.0, 3.0]))
    Tensor([0.25, 0.75])
    """
    if not callable(fun):
        raise TracingError(f"{called_function('vmap')}: takes a function, got {class_of(fun)}")
    in_axes = tuple(in_axes) if type(in_axes) is list else in_axes  # the arguments are a tuple
    mapping = _Mapping(
        fun,
        AxesTree("in_axes", in_axes),
        AxesTree("out_axes", out_axes),
        axis_size,
        added_packages(packages),
        None if axis_name is None else checked_name("vmap", axis_name),
    )
    if spmd_axis_name is not None:
        for name in spmd_axis_name if type(spmd_axis_name) is tuple else (spmd_axis_name,):
            checked_name("vmap", name, "spmd_axis_name")

    called = also_for_data_sizes(mapping.results)

    def mapped(*args: P.args, **kwargs: P.kwargs) -> R:
        return called(args, kwargs)  # type: ignore[no-any-return]  # as the function

    return wraps(fun, mapped)


def checked_name(caller: str, name: Any, option: str = "axis_name") -> str:
    """The name of an axis.

    Raises:
        BatchingError: it is not a string.
    """
    if not isinstance(name, str):
        raise BatchingError(f"{caller}: {option} must be a string, got {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class _Mapping:
    function: Callable[..., Any]
    in_axes: AxesTree
    out_axes: AxesTree
    axis_size: Any
    packages: tuple[Package, ...]
    name: str | None

    def results(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The results for all entries, of the function traced for one."""
        leaves, treedef = flatten((args, kwargs))
        if (rules_here.get() or RULES_OF_PROCESS[0]) is RULES_OF_JAX:
            leaves = list(map(narrowed, leaves))
            args, kwargs = unflatten(treedef, leaves)
        mapped = self._mapped(args, kwargs, leaves)
        size = common_size(list(mapped.values()), self.axis_size)
        entries = list(leaves)
        for position, argument in mapped.items():
            entries[position] = TracedTensor(fresh_input(argument.entry, argument.name))
        one_args, one_kwargs = unflatten(treedef, entries)
        axes = [] if self.name is None else [NamedAxis(self.name, size, new_index(self.name))]
        trace, _ = trace_function(
            self.function,
            one_args,
            one_kwargs,
            active=mapped,
            nested=False,
            passed=leaves,
            has_elements=True,  # arguments that are not mapped
            axes=axes,
        )
        of_function = trace.context.packages
        packages = tuple({id(each): each for each in (*self.packages, *of_function)}.values())
        actual = list(map(leaves.__getitem__, trace.input_at))
        traced = trace.outer or is_traced(actual)
        inputs: list[GlobalValKey] = []
        whole: dict[GlobalValKey, GlobalValKey] = {}
        same: dict[GlobalValKey, GlobalValKey] = {}
        emitter = KeyEmitter(_context(packages, holder_of(leaves)))
        for axis in axes:
            whole[axis.index] = emitter.emit(Iota(INT32, size))
        for (position, key), leaf in zip(trace.input_at.items(), actual, strict=True):
            of = mapped.get(position)
            value = as_key(leaf) if traced else key if of is None else fresh_input(of.meta, of.name)
            if not traced:
                inputs.append(value)
            if of is not None:
                whole[key] = emitter.emit(Transpose(of.front), value)
            elif key is not value:
                same[key] = value
        view: ResolvedView[StdTensorOp] = resolve_keys()
        values = [*trace.outputs, *trace.effects] if trace.bare or traced else trace.outputs
        outputs = batch(view, values, whole, size, ctx=emitter.ctx, replaced=same, emitter=emitter)
        emitter.site = None
        count = len(trace.outputs)
        placed_outputs = self._placed(trace.tree, outputs[:count], size, emitter)
        effects = [key for key, _ in outputs[count:]] if trace.effects else []
        around = current_trace() if effects and traced else None
        if around is not None:
            around.effects += effects
            effects = []
        bound = [] if traced else actual
        results = Evaluation(inputs, bound, traced, self.function, packages, trace.context.limit)
        return unflatten(trace.tree, results.of([*placed_outputs, *effects])[:count])

    def _mapped(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: Sequence[Any]
    ) -> dict[int, MappedArgument]:
        """The arrays to map over, by the position of the leaf."""
        axes = [*self.in_axes.of_arguments(args), *[0] * len(flatten(kwargs)[0])]
        names = argument_names(self.function, args, kwargs)
        return {
            position: MappedArgument.of(name, leaf_meta(leaf, f"argument {name}"), axis, inner)
            for position, (leaf, name, axis, inner) in enumerate(
                zip(leaves, names, axes, entry_ranks((args, kwargs)), strict=True)
            )
            if axis is not None
        }

    def _placed(
        self,
        tree: TreeDef,
        outputs: Sequence[tuple[GlobalValKey, bool]],
        size: Dim,
        emitter: KeyEmitter,
    ) -> list[GlobalValKey]:
        """The results, with their entries along the axes of `out_axes`."""
        result = unflatten(tree, [TracedTensor(key) for key, _ in outputs])
        axes = self.out_axes.of(result, "result")
        names = [f"result {path.codify('')}".strip() for path in optree.treespec_accessors(tree)]
        placed_outputs: list[GlobalValKey] = []
        for (key, is_batched), axis, name, inner in zip(
            outputs, axes, names, entry_ranks(result), strict=True
        ):
            if axis is not None:
                whole = key if is_batched else repeated(emitter, key, size)
                placed_outputs.append(_with_axis_at(emitter, whole, axis, name, inner))
            elif is_batched:
                raise BatchingError(
                    f"vmap: {name} depends on the mapped axis, so its out_axes cannot be None"
                )
            else:
                placed_outputs.append(key)
        return placed_outputs


def new_index(name: str) -> Input:
    """A graph value for the place of an entry along a named axis."""
    return fresh_input(INDEX, f"the place along {name!r}")


def _with_axis_at(
    emitter: KeyEmitter, value: GlobalValKey, axis: int, name: str, entry_rank: int
) -> GlobalValKey:
    """The value with its first axis moved to `axis`; see `entry_ranks`."""
    meta = type_of(value)
    place = placed(axis, meta.rank - entry_rank)
    if place is None:
        advice = unmapped(entry_rank)
        raise BatchingError(f"vmap: out_axes {axis} is out of range for {name}: {meta}{advice}")
    order = list(range(1, meta.rank))
    order.insert(place, 0)
    return emitter.emit(Transpose(tuple(order)), value)


def _context(packages: Sequence[Package], holder: object) -> ShapeGuardContext:
    """The metadata of graph values, with the rules of tenferro's own families and of `packages`.

    It also tells which families the executor runs by their runtimes; see `runtime_name`.
    """
    rule = over_builtin(rules_of(packages)) if packages else builtin_rule
    suffix = runtime_name("")

    def lookup(name: str) -> object | None:
        if not name.endswith(suffix):
            return rule(name)
        return runs_family(name.removesuffix(suffix), packages, holder) or None

    return shape_context(lookup)
