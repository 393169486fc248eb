"""The shardings of arguments and results, and what runs on a mesh: options of `jit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optree

from tenferro.errors import PytreeError, ShardingError
from tenferro.ir import AnyTensor, ArrayLike, PyTree
from tenferro.ops import ShardingConstraint
from tenferro.ops.functions import OpFunction, apply
from tenferro.runtime import INFERRED, Executor, RunsOnMesh, Shardings, executor_module, on_mesh
from tenferro.transforms.jit_arguments import CallArguments
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import (
    NAMESPACE,
    TreeDef,
    flatten,
    prefix_leaves,
    unflatten,
    with_known_classes,
)

__all__ = ["is_spec"]

AT_CALLS = object()
"""The mesh of a compiled function is that which is set when it is called."""


class ShardingTree:
    """A sharding, None, or a tree of these that is a prefix of another tree."""

    def __init__(self, name: str, tree: PyTree, executor: RunsOnMesh) -> None:
        self._caller = name
        accessors, leaves, treedef = optree.tree_flatten_with_accessor(
            with_known_classes(tree), none_is_leaf=True, namespace=NAMESPACE
        )
        entries = [
            executor.sharding(leaf, accessor.codify(name))
            for accessor, leaf in zip(accessors, leaves, strict=True)
        ]
        self._tree: Any = optree.tree_unflatten(treedef, entries)

    def of(self, tree: PyTree, what: str) -> list[Any]:
        """The sharding of each leaf of `tree`; `what` names the tree in errors."""
        if type(self._tree) is tuple and type(tree) is tuple and len(self._tree) != len(tree):
            count = len(self._tree)
            raise PytreeError(
                f"{self._caller} has {count} {'entry' if count == 1 else 'entries'}, but there are "
                f"{len(tree)} {what}; write one for each, or one for all"
            )
        return prefix_leaves(self._tree, tree, f"{self._caller} does not fit the {what}")


@dataclass(frozen=True, slots=True)
class JitShardings:
    """How the arguments and results of a function are divided.

    Attributes:
        executor: the executor on the mesh.
    """

    executor: Executor
    inputs: ShardingTree
    outputs: ShardingTree

    @classmethod
    def read(
        cls,
        executor: str | Executor,
        mesh: object,
        inputs: PyTree,
        outputs: PyTree,
        slices: object = None,
    ) -> JitShardings | None:
        """The shardings that a user passes to `jit`; None if there are none."""
        if all(each is None for each in (mesh, inputs, outputs, mesh_of(executor), slices)):
            return None
        mesh = cls.mesh(executor, mesh, inputs, outputs)
        if mesh is None and slices is not None:
            raise ShardingError("jit: slices= needs a mesh; pass mesh=")
        if mesh is None:
            raise ShardingError(
                "jit: in_shardings and out_shardings need a mesh; pass mesh=, or NamedShardings"
            )
        runs = on_mesh("jit", executor, mesh, slices)
        assert isinstance(runs, RunsOnMesh), "it has a mesh"
        return cls(
            runs,
            ShardingTree("jit: in_shardings", inputs, runs),
            ShardingTree("jit: out_shardings", outputs, runs),
        )

    @classmethod
    def wait(cls, executor: object, mesh: object, inputs: PyTree, outputs: PyTree) -> bool:
        """Whether there are specs, and no mesh but what may be set when the function is called."""
        if cls.mesh(executor, mesh, inputs, outputs) is not None:
            return False
        return any(map(is_spec, flatten((inputs, outputs))[0]))

    @classmethod
    def mesh(cls, executor: object, mesh: object, inputs: PyTree, outputs: PyTree) -> object:
        """The mesh that is passed to `jit`, or that the executor or a sharding has, or None."""
        settings = (executor, inputs, outputs)
        known = (mesh, mesh_of(executor), _mesh_in(settings))
        return next((each for each in known if each is not None), None)

    def of(self, call: CallArguments, names: Sequence[str], out_tree: TreeDef) -> Shardings:
        """The shardings of a program for a call; arguments by name are inferred."""
        inputs = self.inputs.of(call.args, "positional arguments")
        results = unflatten(out_tree, range(out_tree.num_leaves))
        outputs = self.outputs.of(results, "results")
        return Shardings(tuple(inputs), tuple(outputs), tuple(names))

    def inlined(self, call: CallArguments) -> Any:
        """The function in an enclosing trace, where shardings are constraints."""
        args = _constrained(call.args, self.inputs.of(call.args, "positional arguments"))
        result = call.function(*args, **call.kwargs)
        return _constrained(result, self.outputs.of(result, "results"))


def mesh_of(executor: object) -> Any:
    """The mesh that an executor runs on; None if it runs on one device."""
    return getattr(getattr(executor, "placement", None), "mesh", None)


def program_shardings(
    shardings: JitShardings | None, call: CallArguments, out_tree: TreeDef, inputs: Sequence[Any]
) -> Shardings:
    """How a program is divided: as the arguments of `jit` say, or else as its inputs are."""
    return INFERRED if shardings is None else shardings.of(call, (), out_tree).inferred_from(inputs)


def constrained(caller: str, leaf: ArrayLike, sharding: object) -> AnyTensor:
    """An array, divided as is said where a compiled function computes it.

    A sharding on one device leaves it as it is.

    Raises:
        ShardingError: it is not a sharding, or has more axes than the array.
    """
    meta = leaf_meta(leaf, f"{caller}: argument")
    spec = executor_module("xla").sharding.spec_entries(caller, sharding, meta.rank)
    op = ShardingConstraint((None,) * meta.rank if spec is None else spec)
    return apply(OpFunction(op), leaf)


def _constrained(tree: PyTree, shardings: Sequence[Any]) -> Any:
    leaves, treedef = flatten(tree)
    return unflatten(
        treedef,
        [
            constrained("jit", leaf, sharding)
            if sharding is not None and isinstance(leaf, TracedTensor)
            else leaf
            for leaf, sharding in zip(leaves, shardings, strict=True)
        ],
    )


def is_spec(value: object) -> bool:
    """Whether a value is a PartitionSpec, which is a sharding once there is a mesh."""
    return hasattr(value, "UNCONSTRAINED")  # JAX is not loaded for it


def _mesh_in(tree: PyTree) -> object:
    leaves, _ = flatten(tree)
    return next((leaf.mesh for leaf in leaves if getattr(leaf, "mesh", None) is not None), None)
