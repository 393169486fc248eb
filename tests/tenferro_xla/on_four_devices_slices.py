"""Sliced networks that devices share; `test_mesh` runs this file in a child process."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import MemoryLimitError, ShardingError
from tests.sampling import some
from tests.tenferro_xla.sliced_networks import OPERANDS, RING, digest, random, value_and_gradient

DATA = tn.sharding.make_mesh((4,), ("data",))
BOTH = tn.sharding.make_mesh((2, 2), ("data", "model"))


def on(count: int) -> Any:
    return tn.sharding.make_mesh((count,), ("data",))


def test_bits_do_not_depend_on_the_number_of_devices() -> None:
    expected = digest(tn.jit(value_and_gradient)(*OPERANDS))
    for mesh, axes in ((on(2), "data"), (BOTH, ("data", "model"))):
        results = tn.jit(value_and_gradient, mesh=mesh, slices=axes)(*OPERANDS)
        assert digest(results) == expected
    alone = txla.XlaExecutor(mesh=BOTH, slices_over="model")
    assert digest(tn.jit(value_and_gradient, executor=alone)(*OPERANDS)) == expected


@pytest.mark.exhaustive
def test_sixteen_lanes_on_three_devices() -> None:
    three = tn.jit(value_and_gradient, mesh=on(3), slices="data")
    assert digest(three(*OPERANDS)) == digest(tn.jit(value_and_gradient)(*OPERANDS))


@pytest.mark.parametrize("total", [4, 8])
def test_a_device_behind_the_last_lane_adds_nothing(total: int) -> None:
    """Four lanes, two for each of three devices, or eight and three."""
    x, y = random((total, 5)), random((5, total))

    def f(x: Any, y: Any, slices: Any = "a") -> Any:
        return tn.einsum("ab,ba->a", x, y, slices=slices)

    for options in ({"mesh": on(3)}, {"mesh": DATA}):
        shared = tn.jit(f, slices="data", **options)(x, y)
        np.testing.assert_allclose(shared, f(x, y, None), rtol=1e-12, atol=1e-12)


@pytest.mark.exhaustive
def test_any_order_of_additions_gives_the_same_numbers() -> None:
    executor = txla.XlaExecutor(mesh=DATA, slices_over="data", deterministic=False)
    expected = tn.jit(value_and_gradient)(*OPERANDS)
    results = tn.jit(value_and_gradient, executor=executor)(*OPERANDS)
    for one, other in zip(*map(tn.tree_util.tree_leaves, (results, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("total", some([0, 37, 1, 3, 25], 3))
def test_few_slices_and_prime_numbers_of_them(total: int) -> None:
    """Also where there are more devices than slices, and where the result has the sliced label."""
    x, y = random((total, 5)), random((5, total))
    for text in ("ab,ba->", "ab,ba->a"):

        def f(x: Any, y: Any, slices: Any = "a", text: str = text) -> Any:
            return tn.einsum(text, x, y, slices=slices)

        shared = tn.jit(f, mesh=DATA, slices="data")(x, y)
        np.testing.assert_allclose(shared, f(x, y, None), rtol=1e-12, atol=1e-12)
        assert digest(shared) == digest(tn.jit(f)(x, y))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_derivatives_of_higher_order_are_those_without_slices(dtype: str) -> None:
    operands = [x.astype(dtype) * (1 + 0.5j if dtype == "complex128" else 1) for x in OPERANDS]

    def products(labels: Any, **where: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            z = tn.einsum("ab,bc,cd,de,ea->ac", x, y, *operands[2:], slices=labels)
            return tn.sum(tn.real(z) ** 3)

        pair = (operands[0], operands[1])
        both = lambda x, y: (tn.grad(f)(x, y), tn.hvp(f, (x, y), (x + 1, y - 1)))  # noqa: E731
        return tn.tree_util.tree_leaves(tn.jit(both, **where)(*pair))

    whole = products(None)
    for shared, expected in zip(products("ad", mesh=DATA, slices="data"), whole, strict=True):
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(shared, expected, rtol=1e-11, atol=1e-11 * scale)


def test_memory_of_a_device_is_as_predicted_and_limited() -> None:
    big = [random((300, 128)), random((128, 40, 30)), random((40, 30, 300))]

    def f(*operands: Any) -> Any:
        return tn.einsum("ai,ikm,kmb->ab", *operands, slices="ik")

    for mesh in (on(2), DATA):
        lowered = tn.jit(f, mesh=mesh, slices="data").lower(*big)
        needed = lowered.compile().memory()
        predicted = tn.jit(f, mesh=mesh, slices="data").memory(*big).peak
        assert 1 / 1.3 <= (needed.temporaries + needed.outputs) / predicted <= 1.3
    with pytest.raises(MemoryLimitError, match=r"1.0 MB"):
        tn.jit(f, mesh=DATA, slices="data", memory_limit="1 MB")(*big)


@pytest.mark.exhaustive
def test_slices_inside_other_transforms_are_shared_too() -> None:
    x = random((3, 40, 4))

    def f(x: Any) -> Any:
        return tn.einsum(RING, x, *OPERANDS[1:], slices="a")

    def in_a_loop(xs: Any) -> Any:
        return tn.scan(lambda total, x: (total + f(x), f(x)), 0.0, xs)

    for g in (tn.vmap(f), in_a_loop):
        shared, alone = tn.jit(g, mesh=DATA, slices="data")(x), tn.jit(g)(x)
        for one, other in zip(*map(tn.tree_util.tree_leaves, (shared, alone)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_operands_may_be_divided_among_the_devices() -> None:
    rows = tn.sharding.NamedSharding(DATA, tn.sharding.PartitionSpec("data"))
    first = tn.device_put(OPERANDS[0], rows)
    shared = tn.jit(value_and_gradient, mesh=DATA, slices="data")(first, *OPERANDS[1:])
    assert digest(shared) == digest(tn.jit(value_and_gradient)(*OPERANDS))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"slices": "data"}, "jit: slices= needs a mesh; pass mesh="),
        ({"mesh": DATA, "slices": "model"}, "slices: the mesh has axes ('data',), not 'model'"),
        ({"mesh": DATA, "slices": 4}, "slices go over an axis of the mesh"),
        ({"mesh": DATA, "slices": ()}, "slices go over an axis of the mesh"),
        ({"mesh": DATA, "slices": ("data", "data")}, "or a tuple of different ones"),
    ],
)
def test_axes_that_are_not_of_the_mesh_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ShardingError, match=re.escape(text)):
        tn.jit(value_and_gradient, **options)
    with pytest.raises(ShardingError, match="need a mesh"):
        txla.XlaExecutor(slices_over="data")
