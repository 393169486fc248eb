"""Compiled functions on four devices; `test_mesh` runs this file in a child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, ConfigError, DeviceError, PytreeError, ShardingError
from tenferro_xla import XlaExecutor, from_jax

P = tn.sharding.PartitionSpec
MESH = tn.sharding.make_mesh((4,), ("data",))
TWO = tn.sharding.make_mesh((2,), ("data",))
ROWS, WHOLE = (tn.sharding.NamedSharding(MESH, spec) for spec in (P("data"), P()))
RANDOM = np.random.default_rng(7)


def loss(params: dict[str, Any], x: Any, y: Any) -> Any:
    hidden = tn.tanh(x @ params["w"] + params["b"])
    return tn.sum((tn.sum(hidden, axis=1) - y) ** 2)


def update(params: dict[str, Any], x: Any, y: Any) -> dict[str, Any]:
    slopes = tn.grad(loss)(params, x, y)
    return {name: params[name] - 0.01 * slopes[name] for name in params}


def test_training_on_a_mesh_is_training_on_one_device() -> None:
    start = {"w": RANDOM.normal(size=(3, 5)), "b": RANDOM.normal(size=5)}
    alone = tn.jit(update)
    for count in (1, 2, 4):
        mesh = tn.sharding.make_mesh((count,), ("data",))
        step = tn.jit(
            update,
            mesh=mesh,
            in_shardings=(P(), P("data"), P("data")),
            out_shardings=P(),
            donate_argnums=0,
        )
        params = tn.device_put(start, tn.sharding.NamedSharding(mesh, P()))
        expected: Any = start
        for _ in range(3):
            first, x, y = params, RANDOM.normal(size=(8, 3)), RANDOM.normal(size=8)
            params, expected = step(params, x, y), alone(expected, x, y)
        assert first["w"].data.is_deleted()
        assert params["w"].placement == params["w"].device == f"mesh(data={count})"
        for name in start:
            np.testing.assert_allclose(params[name], expected[name], rtol=1e-12, atol=1e-12)


def test_a_function_is_lowered_where_its_arguments_are() -> None:
    double, x = tn.jit(lambda x: 2 * x), RANDOM.normal(size=(8, 3))
    for there in ("cpu:1", ROWS):
        argument = tn.device_put(x, there)
        for lowered in (double.lower(argument), double.trace(argument).lower()):
            result = lowered.compile()(argument)
            assert result.device == double(argument).device
            np.testing.assert_array_equal(result, 2 * x)


def test_a_divided_tensor_is_a_tensor() -> None:
    array = RANDOM.normal(size=(8, 3))
    x = tn.device_put(array, ROWS)
    assert x.sharding == ROWS
    assert tn.Tensor(x.data).placement == "mesh(data=4)"
    assert tn.Tensor(array).sharding is None
    y = x * 2 + 1
    assert y.sharding.spec == P("data")
    np.testing.assert_array_equal(y, array * 2 + 1)
    np.testing.assert_allclose((x @ np.ones(3)).numpy(), array @ np.ones(3))
    assert tn.sum(x).item() == pytest.approx(array.sum())
    assert x.to_device("host").placement == "host"
    assert tn.device_put(x, tn.sharding.SingleDeviceSharding(x.data.devices().pop())).shape == (
        8,
        3,
    )


def test_shardings_are_inferred_from_arguments() -> None:
    array = RANDOM.normal(size=(8, 3))
    f = tn.jit(lambda x: tn.sin(x) @ x.T, mesh=MESH)
    for x in (array, tn.device_put(array, ROWS), tn.device_put(array, WHOLE)):
        np.testing.assert_allclose(f(x), np.sin(array) @ array.T, rtol=1e-12)
    assert f.stats().misses == 1
    by_sharding = tn.jit(tn.sin, in_shardings=ROWS)
    assert by_sharding(array).sharding.spec == P("data")


def test_compiled_functions_run_on_the_mesh_of_their_arguments() -> None:
    array = RANDOM.normal(size=(8, 3))
    f = tn.jit(lambda x, y: tn.sum(tn.sin(x) * y, axis=1))
    expected = np.sin(array).sum(1)
    for _ in range(2):
        assert f(array, 1.0).placement == "cpu:0"
        y = f(tn.device_put(array, ROWS), np.ones(3))
        assert y.sharding.spec == P("data")
        np.testing.assert_allclose(y, expected)
    gradient = tn.grad(tn.jit(lambda x: tn.sum(x**2)))(tn.device_put(array, ROWS))
    assert gradient.sharding.spec == P("data")
    shards = y.addressable_shards
    assert [shard.index for shard in shards] == [(slice(2 * i, 2 * i + 2, None),) for i in range(4)]
    np.testing.assert_allclose(y.addressable_data(3), expected[6:])


def test_smap_divides_along_one_axis() -> None:
    x = RANDOM.normal(size=(4, 8))
    with tn.set_mesh(tn.make_mesh((2, 2), ("a", "b"))):
        split = tn.smap(lambda x, y: x * y, in_axes=(1, None), out_axes=1, axis_name="a")
        total = tn.smap(lambda x: tn.lax.psum(x, "b"), in_axes=0, out_axes=None, axis_name="b")
        for f in (split, tn.jit(split)):
            np.testing.assert_allclose(f(x, 2.0), x * 2)
        np.testing.assert_allclose(tn.jit(total)(x), x[:2] + x[2:])


def test_constraints_are_identities_that_derivatives_keep() -> None:
    def f(x: Any) -> Any:
        return tn.sum(tn.with_sharding_constraint(x * x, P("data")) ** 2)

    x = RANDOM.normal(size=(8, 3))
    expected = 4 * x**3
    for options in ({}, {"mesh": MESH}, {"executor": "numpy"}):
        np.testing.assert_allclose(tn.jit(tn.grad(f), **options)(x), expected, rtol=1e-12)
    rows = tn.jit(lambda x: tn.with_sharding_constraint(x + 1, P("data")), mesh=MESH)(x)
    assert rows.sharding.spec == P("data")
    both = tn.jit(tn.vmap(f), mesh=MESH)(np.stack([x, x]))
    np.testing.assert_allclose(both, [np.sum(x**4)] * 2)


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: tn.jit(loss, mesh=MESH, in_shardings=(P(), P("model"), P())),
        ShardingError,
        "jit: in_shardings[1]: the mesh has axes ('data',), not 'model'",
    ),
    (
        lambda: tn.jit(lambda x: x, mesh=MESH, in_shardings=P("data"))(np.ones((10, 3))),
        ShardingError,
        "jit: argument x: axis 0 of f64[10,3] is divided by 'data', which has 4 devices; pad it to "
        "12 or leave the axis whole",
    ),
    (
        lambda: tn.jit(lambda w: w, mesh=MESH)(
            tn.device_put(np.ones(4), tn.sharding.NamedSharding(TWO, P("data")))
        ),
        DeviceError,
        "run: argument w is on mesh(data=2), but the program runs on mesh(data=4); move it with "
        "tn.device_put",
    ),
    (
        lambda: tn.jit(lambda w: w, mesh=MESH)(tn.Tensor(np.ones(4)).to_device("cpu:0")),
        DeviceError,
        "run: argument w is on cpu:0, but the program runs on mesh(data=4); move it with "
        "tn.device_put",
    ),
    (
        lambda: tn.jit(lambda w: w, mesh=MESH, in_shardings=P())(tn.device_put(np.ones(4), ROWS)),
        DeviceError,
        "run: argument w is divided by P('data',) on mesh(data=4), but in_shardings says P(); move "
        "it with tn.device_put",
    ),
    (
        lambda: tn.jit(lambda w: w, device="cpu:0")(tn.device_put(np.ones(4), ROWS)),
        DeviceError,
        "run: an array is on mesh(data=4), but the program runs on cpu:0; move it with "
        "tn.device_put, or run the program there with tn.jit(mesh=)",
    ),
    (
        lambda: tn.jit(tn.sin, executor="numpy", mesh=MESH),
        ShardingError,
        "jit: the executor 'numpy' does not run on a mesh; use executor='xla'",
    ),
    (
        lambda: tn.jit(tn.sin, in_shardings=P("data"))(np.ones(4)),
        ShardingError,
        "jit: in_shardings and out_shardings need a mesh; pass mesh=, or NamedShardings",
    ),
    (
        lambda: tn.jit(tn.sin, mesh=4),
        ShardingError,
        "mesh: takes a mesh of devices, got an int; make one with "
        'tn.sharding.make_mesh((4,), ("data",))',
    ),
    (
        lambda: tn.jit(tn.add, mesh=MESH, in_shardings=(P(),))(1.0, 2.0),
        PytreeError,
        "jit: in_shardings has 1 entry, but there are 2 positional arguments; write one for "
        "each, or one for all",
    ),
    (
        lambda: tn.jit(tn.sin, mesh=MESH, in_shardings="data"),
        ShardingError,
        "jit: in_shardings: must be a PartitionSpec, a NamedSharding, None, or a tree of these, "
        "got 'data'",
    ),
    (
        lambda: tn.jit(tn.sin, mesh=TWO, in_shardings=ROWS),
        ShardingError,
        "jit: in_shardings: a sharding on mesh(data=4), but the program runs on mesh(data=2); "
        "write a PartitionSpec, or shardings of one mesh",
    ),
    (
        lambda: tn.device_put(np.ones(6), ROWS),
        ShardingError,
        "device_put: axis 0 of f64[6] is divided by 'data', which has 4 devices; pad it to 8 or "
        "leave the axis whole",
    ),
    (
        lambda: tn.jit(lambda x: tn.with_sharding_constraint(x, P("model")), mesh=MESH)(np.ones(4)),
        ShardingError,
        "with_sharding_constraint: the mesh has axes ('data',), not 'model'",
    ),
    (
        lambda: tn.jit(lambda x: tn.with_sharding_constraint(x, P("data", "data")), mesh=MESH)(
            np.ones((4, 4))
        ),
        ShardingError,
        "with_sharding_constraint: P('data', 'data') names 'data' twice; a mesh axis divides one "
        "axis of an array",
    ),
    (
        lambda: tn.jit(lambda x: tn.with_sharding_constraint(x, P("data")), mesh=MESH)(np.ones(6)),
        ShardingError,
        "with_sharding_constraint: axis 0 of f64[6] is divided by 'data', which has 4 devices; pad "
        "it to 8 or leave the axis whole",
    ),
    (
        lambda: tn.sharding.from_local(ROWS, np.ones((6, 2))),
        ShardingError,
        "from_local: P('data',) divides axis 0 into 4 parts, of which this process holds 4; its "
        "block must have a multiple of 4 elements there, such as f64[8,2], but f64[6,2] was given",
    ),
    (
        lambda: tn.sharding.from_local(ROWS, 1.0),
        ShardingError,
        "from_local: f64[] has 0 axes, but P('data',) has 1; write at most one entry for each axis",
    ),
    (
        lambda: tn.sharding.from_local(ROWS, np.ones((4, 2)), (8, 3)),
        ShardingError,
        "from_local: of f64[8,3], divided by P('data',) on mesh(data=4), this process holds "
        "f64[8,3], but f64[4,2] was given",
    ),
    (
        lambda: tn.sharding.from_local(ROWS, np.ones(4), 4),
        ShardingError,
        "from_local: shape must be a sequence of sizes, got 4",
    ),
    (
        lambda: XlaExecutor(mesh=MESH, in_flight=0),
        ConfigError,
        "XlaExecutor: in_flight must be a number of calls, at least 1, got 0",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_virtual_devices_share_the_memory_of_the_host() -> None:
    assert XlaExecutor(mesh=MESH).free_bytes() < 0.5 * XlaExecutor("cpu").free_bytes()


def test_a_donated_argument_is_refused_later() -> None:
    f = tn.jit(lambda x: x + 1, mesh=MESH, donate_argnums=0, out_shardings=P("data"))
    x = tn.device_put(np.ones(4), ROWS)
    f(x)
    with pytest.raises(BindingError, match="input 0 was donated to an earlier call"):
        f(x)
    kept = tn.device_put(np.ones(4), WHOLE)  # no output is divided as it is
    f(kept)
    assert not kept.data.is_deleted()


def test_a_compiled_function_within_another_divides_its_values() -> None:
    inner = tn.jit(lambda x: x * x, mesh=MESH, in_shardings=P("data"), out_shardings=P("data"))
    x = RANDOM.normal(size=(8, 3))
    outer = tn.jit(lambda x: inner(x) + 1, mesh=MESH)
    assert outer(x).sharding.spec == P("data")
    np.testing.assert_allclose(outer(x), x * x + 1)
    np.testing.assert_allclose(tn.jit(lambda x: inner(x) + 1, executor="numpy")(x), x * x + 1)
    np.testing.assert_allclose(tn.grad(lambda x: tn.sum(inner(x)))(x), 2 * x)


def test_draws_do_not_depend_on_the_number_of_devices() -> None:
    key = tn.random.key(0)
    draws = [
        tn.jit(lambda key: tn.random.bits(key, (8, 3)), **options)(key).numpy()
        for options in ({}, {"mesh": TWO, "out_shardings": P("data")}, {"mesh": MESH})
    ]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0], draws[2])


def test_loops_branches_and_linear_algebra_run_on_a_mesh() -> None:
    x = RANDOM.normal(size=(8, 3))

    def rounds(x: Any) -> Any:
        carry, rows = tn.scan(lambda c, row: (c + tn.sum(row @ x.T), c), 0.0, x)
        twice = tn.while_loop(lambda s: tn.sum(s) < 100, lambda s: s * 2, x * x)
        chosen = tn.cond(carry > 0, lambda x: x, lambda x: -x, x)
        return carry, rows, twice, chosen, tn.linalg.svd(x.T @ x)[1]

    expected = tn.jit(rounds)(x)
    for found, other in zip(
        tn.jit(rounds, mesh=MESH, in_shardings=P("data"))(x), expected, strict=True
    ):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-11)


def test_meshes_of_jax_are_taken_whatever_their_axes_are() -> None:
    explicit = jax.make_mesh((4,), ("data",))
    array = RANDOM.normal(size=(8, 8)).astype(np.float32)
    x = jax.device_put(array, jax.sharding.NamedSharding(explicit, P("data")))
    f = tn.jit(lambda x: x @ x.T @ x, mesh=explicit)
    for y in (x, tn.device_put(array, ROWS), array):
        np.testing.assert_allclose(f(y), array @ array.T @ array, rtol=1e-4, atol=1e-4)
    assert (tn.Tensor(x) @ x).placement == "mesh(data=4)"
    assert f.lower(x).compile().memory().arguments == array.nbytes // 4


@pytest.mark.parametrize("out", [None, P(), P("data")])
def test_a_donated_array_is_taken_without_a_warning(out: Any) -> None:
    array = RANDOM.normal(size=(8, 8))
    x = tn.device_put(array, ROWS)
    f = tn.jit(lambda x: x.T * 2, mesh=MESH, donate_argnums=0, out_shardings=out)
    np.testing.assert_array_equal(f(x), array.T * 2)


def test_functions_of_jax_keep_their_constraints() -> None:
    rows = jax.sharding.NamedSharding(MESH, P("data"))
    array = np.arange(8.0)
    theirs = from_jax(lambda x: jax.lax.with_sharding_constraint(x * 2, rows), array)
    result = tn.jit(lambda x: theirs(x), mesh=MESH)(array)
    np.testing.assert_array_equal(result, 2 * array)
    assert result.sharding.spec == P("data")


def test_nan_is_the_extremum_of_divided_numbers() -> None:
    x = RANDOM.normal(size=(8, 2))
    x[3, 1] = np.nan
    for function in (tn.max, tn.min):
        found = tn.jit(lambda x, f=function: f(x, axis=0), mesh=MESH, in_shardings=P("data"))(x)
        assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.at[np.array([0, 0, 1])].add(x[:3]),  # XLA ended the process
        lambda x: x.at[np.array([0, 0, 1], np.int8)].add(x[:3]),
        lambda x: x.at[np.array([0, 0, 1], np.uint64)].set(x[:3]),
        lambda x: x.at[np.array([2, 5])].max(x[:2]),
        lambda x: tn.take(x, np.array([0, 2**40]), mode="fill"),
        tn.grad(lambda x: tn.sum(tn.sort(x[1:])[:2])),  # JAX ends the process
    ],
)
def test_divided_values_are_indexed(function: Callable[[Any], Any]) -> None:
    x = RANDOM.normal(size=8)
    found = tn.jit(function, mesh=MESH, in_shardings=P("data"))(x)
    np.testing.assert_allclose(found, tn.jit(function)(x), rtol=1e-12)
