"""shard_map: a function that each device of a mesh runs on its blocks of arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, ParamSpec, TypeVar, overload

import optree

from tenferro.errors import ShardingError, TracingError, class_of
from tenferro.ir import Dim, PyTree, TensorMeta
from tenferro.ops.control_flow import Axes, ShardMap, axes_of
from tenferro.runtime import MESH_OF_THREAD, NamedAxis, executor_module, is_tracing, using_mesh
from tenferro.transforms.device_put import put_divided
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    Leaves,
    NoResultError,
    leaves_of,
    operands_of,
    run,
    with_result,
)
from tenferro.transforms.jit import jit
from tenferro.transforms.program import wraps
from tenferro.transforms.trace import is_traced
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import NAMESPACE, flatten, leaf_names, prefix_leaves, unflatten
from tenferro.transforms.vmap import new_index

__all__ = ["shard_map", "smap"]

P = ParamSpec("P")
R = TypeVar("R")
Spec = tuple[tuple[str, ...], ...]


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = ...,
    mesh: Any = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Callable[P, R]: ...


@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = ...,
    mesh: Any = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: PyTree,
    in_specs: PyTree = ...,
    mesh: Any = None,
    axis_names: Collection[str] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """A function that runs `f` on each device of a mesh, on its blocks of the arguments.

    In `f`, `tn.lax.psum(x, name)` and the other functions of `tn.lax` on named axes compute with
    the values of other devices. Un-jitted it runs on the mesh; in a compiled function, on the mesh
    that is passed to `tn.jit(mesh=)`, or that an argument lies on. On an executor without these
    axes, such as NumPy, it computes the same, all blocks on one device.

    Args:
        f: takes and returns trees of arrays.
        out_specs: how each result is put together of blocks: a `tn.sharding.PartitionSpec`, or a
            tree of these that is a prefix of the result. Along an axis of the mesh that a spec
            does not name, all devices have the same block.
        in_specs: how each argument is divided into blocks: the same for the tuple of arguments.
        mesh: the devices; see `tn.sharding.make_mesh`. None is the mesh that `tn.set_mesh` sets, or
            that the compiled function runs on.
        axis_names: the axes of the mesh that are named in `f`; all if there are none. XLA chooses
            what is divided along the others.
        check_vma: whether to check that results are the same along the axes that their specs do
            not name. Then derivatives in `f` by a value that devices have in common are the sum of
            those of the devices; if False, each device has one of its own.

    Raises:
        ShardingError: a spec does not fit the mesh, an array or the tree; a size is not a multiple
            of the number of devices; or devices may have different blocks of a result where its
            spec says that they do not.

    >>> import tenferro as tn
    >>> P = tn.sharding.PartitionSpec
    >>> mesh = tn.sharding.make_mesh((1,), ("data",))
    >>> total = tn.shard_map(
    ...     lambda x: tn.lax.psum(tn.sum(x), "data"), mesh=mesh, in_specs=P("data"), out_specs=P()
    ... )
    >>> total(tn.array([1.0, 2.0, 3.0]))
    Tensor(6.)
    """

    def mapped_by(function: Any) -> Callable[..., Any]:
        if not callable(function):
            kind = class_of(function)
            raise TracingError(f"shard_map: takes a function, got {kind}")

        def on(mesh: Any) -> Mapped:
            return Mapped.of(function, mesh, in_specs, out_specs, axis_names, bool(check_vma))

        known = {None: on(mesh)} if mesh is not None else {}

        def mapped(*args: Any) -> Any:
            here = MESH_OF_THREAD.mesh if mesh is None else None
            if here not in known:
                known[here] = on(here)
            return known[here].results(args)

        return wraps(function, mapped)

    return mapped_by if f is None else mapped_by(f)


def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_axes: PyTree,
    in_axes: PyTree = ...,
    axis_name: str,
) -> Any:
    """`shard_map` along one axis of the mesh that is set, with arguments as of `vmap`.

    Args:
        f: takes and returns trees of arrays.
        out_axes: the axis of each result along which blocks are put together: an integer, None for
            a result that all devices have in common, or a tree of these that is a prefix.
        in_axes: the axis of each argument that is divided: the same for the tuple of arguments.
        axis_name: the axis of the mesh. XLA chooses what is divided along the others.

    Raises:
        ShardingError: as of `shard_map`; or an axis is not an integer that is not negative.

    >>> import tenferro as tn
    >>> with tn.set_mesh(tn.make_mesh((1,), ("data",))):
    ...     tn.smap(lambda x: x * 2, in_axes=0, out_axes=0, axis_name="data")(tn.ones(2))
    Tensor([2., 2.])
    """

    if not isinstance(axis_name, str):
        raise ShardingError(f"smap: axis_name must be a string, got {axis_name!r}")

    def specs(option: str, axes: PyTree) -> Any:
        spec_of = executor_module("xla").sharding.PartitionSpec
        if axes is ...:
            raise ShardingError(f"smap: pass {option}, an axis for each argument")

        def spec(axis: Any) -> Any:
            if axis is not None and (type(axis) is not int or axis < 0):
                raise ShardingError(
                    f"smap: {option} must be an axis that is not negative, None, or a tree of "
                    f"these, got {axis!r}"
                )
            return spec_of() if axis is None else spec_of(*(None,) * axis, axis_name)

        return optree.tree_map(spec, axes, none_is_leaf=True, namespace=NAMESPACE)

    return shard_map(
        f,
        in_specs=specs("in_axes", in_axes),
        out_specs=specs("out_axes", out_axes),
        axis_names={axis_name},
    )


@dataclass(frozen=True)
class Mapped:
    """A function with its mesh and specs.

    Attributes:
        sizes: the named axes of the mesh, and their sizes.
    """

    function: Callable[..., Any]
    mesh: Any
    sizes: dict[str, int]
    in_specs: PyTree
    out_specs: PyTree
    varies: bool

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        mesh: Any,
        in_specs: PyTree,
        out_specs: PyTree,
        names: Collection[str],
        varies: bool,
    ) -> Mapped:
        """What a user passes to `shard_map`."""
        if mesh is None:
            raise ShardingError(
                "shard_map: needs a mesh; pass mesh=, or set one with tn.set_mesh(mesh)"
            )
        shape = getattr(mesh, "shape", None)
        if not isinstance(shape, Mapping):
            raise ShardingError(
                f"shard_map: mesh must be a mesh of devices, got {mesh!r}; make one with "
                'tn.sharding.make_mesh((4,), ("data",))'
            )
        missing = [name for name in names if name not in shape]
        if missing:
            raise ShardingError(
                f"shard_map: axis_names: the mesh has axes {tuple(shape)}, not {missing[0]!r}"
            )
        if in_specs is ...:
            raise ShardingError(
                "shard_map: in_specs must be a PartitionSpec for each argument, since types of "
                "arrays do not say how they are divided"
            )
        if not isinstance(in_specs, tuple | list | dict) and not _is_spec(in_specs):
            raise ShardingError(
                f"shard_map: in_specs must be a PartitionSpec for each argument, got {in_specs!r}"
            )
        sizes = {name: size for name, size in shape.items() if not names or name in names}
        in_specs = tuple(in_specs) if type(in_specs) is list else in_specs
        return cls(function, mesh, sizes, in_specs, out_specs, varies)

    def results(self, args: tuple[Any, ...]) -> Any:
        """The results for some arguments."""
        leaves, treedef = flatten(args)
        if is_tracing() or is_traced(leaves) or any(getattr(x, "tracked", False) for x in leaves):
            return self.recorded(*args)
        self._divided(args)
        named = executor_module("xla").sharding.NamedSharding
        specs = prefix_leaves(self.in_specs, args, _mismatch("in_specs", "arguments"))
        shardings = [None if spec is None else named(self.mesh, spec) for spec in specs]
        return self._compiled(*unflatten(treedef, put_divided(leaves, shardings)))

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        return jit(self.recorded, mesh=self.mesh)

    def recorded(self, *args: Any) -> Any:
        """The results as those of an op."""
        passed, specs, blocks = self._divided(args)
        places = {name: new_index(name) for name in self.sizes}
        bodies = Bodies("shard_map")

        def arguments(values: list[TracedTensor]) -> Call:
            bodies.traces[-1].varies |= self.varies
            bodies.traces[-1].axes = tuple(
                [
                    NamedAxis(
                        name,
                        size,
                        places[name],
                        self.varies,
                        frozenset(
                            value.key
                            for value, spec in zip(values, specs, strict=True)
                            if name in chain(*spec)
                        ),
                    )
                    for name, size in self.sizes.items()
                ]
            )
            return unflatten(passed.tree, values), {}

        try:
            with using_mesh(executor_module("xla").sharding.mesh_of(self.mesh)):
                body = bodies.trace(
                    "f", self.function, blocks, passed.weak, arguments, passed.values
                )
        except NoResultError:
            whole_number = executor_module("xla").sharding.PartitionSpec()
            function, specs_of_both = with_result(self.function), (self.out_specs, whole_number)
            both = replace(self, function=function, out_specs=specs_of_both, varies=False)
            return both.recorded(*args)[0]
        result = unflatten(body.tree, body.outputs)
        out_specs = self._specs(self.out_specs, result, body.metas, "out_specs", "result")
        body.inputs = [*body.inputs, *places.values()]
        consts = bodies.closed_over(body)
        program = bodies.program("f", consts, body)
        whole = [((),) * len(meta.extents) for meta in program.input_metas[: len(consts)]]
        op = ShardMap(
            program,
            tuple(self.sizes.items()),
            (*whole, *specs),
            tuple(out_specs),
            self.varies,
        )
        if self.varies:
            self._check_results(op, leaf_names(result, ""))
        results = run(op, [*operands_of(consts), *passed.typed()], bodies)
        return unflatten(body.tree, results)

    def _divided(self, args: Any) -> tuple[Leaves, list[Spec], list[TensorMeta]]:
        """The arguments, how they are divided, and the types of their blocks."""
        passed = leaves_of(args, "shard_map: arguments")
        specs = self._specs(self.in_specs, args, passed.metas, "in_specs", "arguments")
        return passed, specs, list(map(self._block, passed.metas, specs, passed.paths))

    def _block(self, meta: TensorMeta, spec: Spec, path: str) -> TensorMeta:
        """The type of a block of an array."""
        sizes: list[Dim] = []
        for axis, (size, names) in enumerate(zip(meta.exact_shape("shard_map"), spec, strict=True)):
            parts = prod([self.sizes[name] for name in names])
            if parts > 1 and (not isinstance(size, int) or size % parts):
                raise ShardingError(
                    f"shard_map: argument {path}: axis {axis} of {meta} is divided by "
                    f"{' and '.join(names)}, but {size} is not known to be a multiple of {parts}"
                )
            sizes.append(size if parts == 1 else size // parts)
        return TensorMeta.of(meta.dtype, tuple(sizes))

    def _check_results(self, op: ShardMap, paths: Sequence[str]) -> None:
        """Raise ShardingError if devices may have different blocks where a spec says otherwise."""
        of_inputs: list[Axes] = [frozenset(chain(*spec)) for spec in op.in_specs]
        of_places: list[Axes] = [frozenset([name]) for name in self.sizes]
        for axes, spec, path in zip(
            axes_of(op.body, [*of_inputs, *of_places]), op.out_specs, paths, strict=True
        ):
            more = sorted(axes.difference(chain(*spec)))
            if more:
                raise ShardingError(
                    f"shard_map: {f'result {path}'.strip()} may differ along {more[0]!r}, which "
                    "its out_specs do not name; name it there, or make the result one for all "
                    "devices, with tn.lax.psum or pmean; check_vma=False takes that of one device"
                )

    def _specs(
        self, specs: PyTree, tree: Any, metas: Sequence[TensorMeta], option: str, what: str
    ) -> list[Spec]:
        """The names that divide each axis of each leaf of a tree."""
        leaves = prefix_leaves(specs, tree, _mismatch(option, what))
        entries_of = executor_module("xla").sharding.spec_entries
        divided: list[Spec] = []
        for spec, meta in zip(leaves, metas, strict=True):
            entries: Any = ((),) * meta.rank
            if spec is not None:
                entries = entries_of(f"shard_map: {option}", spec, meta.rank)
            if entries is None or None in entries:
                raise ShardingError(
                    f"shard_map: {option}: {spec} does not say how {meta} is divided"
                )
            for name in chain(*entries):
                if name not in self.sizes:
                    raise ShardingError(
                        f"shard_map: {option}: {spec} names {name!r}; the named axes of the mesh "
                        f"are {tuple(self.sizes)}"
                    )
            divided.append(entries)
        return divided


def _is_spec(value: object) -> bool:
    """Whether a value is a PartitionSpec or a NamedSharding, and so the spec of all arguments."""
    sharding = executor_module("xla").sharding
    return isinstance(value, sharding.PartitionSpec | sharding.NamedSharding)


def _mismatch(option: str, what: str) -> str:
    return f"shard_map: {option} does not fit the {what}"
