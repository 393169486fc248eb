"""Arrays that are divided among the devices of a mesh."""

from __future__ import annotations

from typing import Any

from tenferro.dispatch import constrained
from tenferro.errors import PytreeError
from tenferro.traced import TracedTensor, flatten, spread, unflatten
from tenferro.typing import PyTree
from tenferro.values import ShownType, Tensor, executor_module


def with_sharding_constraint(x: PyTree, shardings: PyTree) -> PyTree:
    """The arrays of a tree, divided as is said where a compiled function computes them.

    It is an identity: its derivative is divided in the same way. On one device, on NumPy, and on
    arrays that are not traced and not on a mesh, it has no effect.

    Args:
        x: a tree of arrays.
        shardings: a `tn.sharding.NamedSharding`, a `PartitionSpec` of the mesh that the function
            runs on, or a tree of these that is a prefix of `x`. Only the names of axes count.

    Raises:
        ShardingError: an array has fewer axes than the spec; or, when the function is compiled, the
            mesh has no such axis, or it does not divide the array.

    >>> import tenferro as tn
    >>> P = tn.sharding.PartitionSpec
    >>> mesh = tn.sharding.make_mesh((1,), ("data",))
    >>> f = tn.jit(lambda x: with_sharding_constraint(x * 2, P("data")), mesh=mesh)
    >>> f(tn.ones(2))
    Tensor([2., 2.])
    """
    return _each("with_sharding_constraint", x, shardings, _constrained)


def put_divided(x: PyTree, shardings: Any) -> PyTree:
    """The arrays of a tree, divided as is said; what is there already is not copied.

    A traced one gets a sharding constraint; None, and one device, leave it as it is.
    """
    return _each("device_put", x, shardings, _put)


def _each(name: str, x: PyTree, shardings: Any, function: Any) -> Any:
    """The tree with `function` applied to each leaf and its sharding; None leaves it as it is."""
    leaves, treedef = flatten(x)
    try:
        entries = spread(shardings, x, ShownType)
    except ValueError as error:
        raise PytreeError(f"{name}: the shardings do not fit the tree: {error}") from None
    return unflatten(
        treedef,
        [
            leaf if sharding is None else function(leaf, sharding)
            for leaf, sharding in zip(leaves, entries, strict=True)
        ],
    )


def _put(leaf: Any, sharding: Any) -> Any:
    module = executor_module("xla").sharding
    if isinstance(leaf, TracedTensor):
        return _constrained(leaf, sharding)
    tensor = _tensor(leaf)
    tensor.refuse_if_tracked("device_put")
    return Tensor(module.placed(tensor.data, sharding))


def _constrained(leaf: Any, sharding: Any) -> Any:
    return constrained("with_sharding_constraint", leaf, sharding)


def _tensor(leaf: Any) -> Tensor:
    return leaf if isinstance(leaf, Tensor) else Tensor(leaf)
