"""The mesh that `tn.set_mesh` sets, on four devices; `test_mesh` runs this in a child process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DeviceError, ShardingError, TenferroError

P = tn.P
LINE, TWO = tn.make_mesh((4,), ("i",)), tn.make_mesh((2,), ("i",))
X = np.arange(8.0)


def summed(x: Any) -> Any:
    return tn.shard_map(lambda x: tn.lax.psum(x, "i"), in_specs=P("i"), out_specs=P())(x)


def test_specs_are_shardings_on_the_mesh_that_is_set() -> None:
    divided = tn.jit(tn.sin, out_shardings=P("i"))
    with tn.set_mesh(LINE):
        arrays = [tn.device_put(X, P("i")), tn.ones(8, device=P("i")), divided(X)]
    assert [x.sharding for x in arrays] == [tn.NamedSharding(LINE, P("i"))] * 3


def test_a_compiled_function_runs_on_the_mesh_that_is_set_where_it_is_called() -> None:
    f = tn.jit(lambda x: x * 2)
    pinned, own = tn.jit(tn.sin, device="cpu:0"), tn.jit(tn.sin, mesh=TWO)
    with tn.set_mesh(LINE):
        assert f(X).placement == "mesh(i=4)"
        assert (pinned(X).placement, own(X).placement) == ("cpu:0", "mesh(i=2)")
        with tn.set_mesh(TWO):
            assert f(f(X)).placement == "mesh(i=2)"
            with tn.set_mesh(None):
                assert f(X).placement == "cpu:0"
        assert f(X).placement == "mesh(i=4)"
        assert "num_partitions=4" in f.lower(X).compile().as_text()
        assert f.stats().entries == 1
    assert f(X).placement == "cpu:0"
    f.clear()
    assert f.stats().entries == 0


@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_what_is_traced_for_one_mesh_does_not_answer_on_another(executor: str) -> None:
    f = tn.jit(lambda x: summed(x), executor=executor)
    for mesh, parts in ((LINE, 4), (TWO, 2), (LINE, 4)):
        with tn.set_mesh(mesh):
            expected = X.reshape(parts, -1).sum(0)
            np.testing.assert_array_equal(f(X), expected)
            np.testing.assert_array_equal(summed(X), expected)
            slope = tn.grad(lambda x: tn.sum(summed(x) ** 2))(X)
            np.testing.assert_array_equal(slope, np.tile(2 * expected, parts))


def test_a_function_is_mapped_over_the_mesh_that_its_caller_runs_on() -> None:
    f = tn.jit(lambda x: summed(x), mesh=TWO)
    with tn.set_mesh(LINE):
        np.testing.assert_array_equal(f(X), X[:4] + X[4:])
    np.testing.assert_array_equal(f(X), X[:4] + X[4:])
    inner = tn.jit(lambda x: summed(x))
    np.testing.assert_array_equal(tn.jit(lambda x: inner(x), mesh=TWO)(X), X[:4] + X[4:])


def test_the_mesh_belongs_to_a_thread_and_is_set_without_a_block_too() -> None:
    found: list[Any] = []
    before = tn.set_mesh(LINE)
    try:
        assert tn.sharding.get_mesh() == LINE
        reader = threading.Thread(target=lambda: found.append(tn.sharding.get_mesh().empty))
        reader.start()
        reader.join()
        assert found == [True]
        assert jax.sharding.get_mesh().empty  # JAX's own is not changed
    finally:
        before.__exit__()
    assert tn.sharding.get_mesh().empty


def test_a_traced_function_reads_names_and_sizes_of_the_mesh() -> None:
    f = tn.jit(lambda x: x * tn.sharding.get_abstract_mesh().shape["i"])
    for mesh in (LINE, TWO):
        with tn.set_mesh(mesh):
            np.testing.assert_array_equal(f(X), X * mesh.shape["i"])


def test_the_sharding_of_a_tensor_is_passed_to_a_function() -> None:
    found: list[Any] = []
    x = tn.device_put(X, tn.NamedSharding(LINE, P("i")))
    tn.debug.inspect_array_sharding(x, callback=found.append)
    assert found == [x.sharding]


def set_in_a_trace(x: Any) -> Any:
    tn.set_mesh(LINE)
    return x


def on_line(call: Callable[[], object]) -> Callable[[], object]:
    def called() -> object:
        with tn.set_mesh(LINE):
            return call()

    return called


KINDS = tn.sharding.AxisType
REFUSED: dict[str, tuple[Callable[[], object], type[TenferroError], str]] = {
    "explicit axes": (
        lambda: tn.make_mesh((4,), ("i",), (KINDS.Explicit,)),
        ShardingError,
        "make_mesh: axis_types: Explicit: XLA chooses shardings; types do not have them; pass",
    ),
    "too many kinds": (
        lambda: tn.make_mesh((4,), ("i",), axis_types=(KINDS.Auto,) * 2),
        ShardingError,
        "make_mesh: 1 name, but 2 axis types",
    ),
    "no mesh": (lambda: tn.set_mesh(4), ShardingError, "set_mesh: takes a mesh of devices, got a"),
    "a spec without a mesh": (
        lambda: tn.device_put(X, P("i")),
        ShardingError,
        r"device_put: P\('i',\) needs a mesh; set one with tn.set_mesh\(mesh\), or pass",
    ),
    "an unknown axis": (
        on_line(lambda: tn.device_put(X, P("j"))),
        ShardingError,
        r"device_put: the mesh has axes \('i',\), not 'j'",
    ),
    "a sum that is not computed": (
        on_line(lambda: tn.device_put(X, P(unreduced={"i"}))),
        ShardingError,
        "arrays are whole sums, and specs say only how axes are divided; sum with tn.lax.psum",
    ),
    "a sum that is not computed, of a mapped function": (
        lambda: tn.shard_map(tn.sin, mesh=LINE, in_specs=P("i"), out_specs=P(unreduced={"i"}))(X),
        ShardingError,
        "shard_map: out_specs: .*: arrays are whole sums",
    ),
    "an unknown axis of a constraint": (
        on_line(lambda: tn.jit(lambda x: tn.with_sharding_constraint(x, P("j")))(X)),
        ShardingError,
        r"the mesh has axes \('i',\), not 'j'",
    ),
    "a mesh of other devices": (
        on_line(lambda: tn.jit(tn.sin)(tn.device_put(X, tn.NamedSharding(TWO, P("i"))))),
        DeviceError,
        r"is on mesh\(i=2\), but the program runs on mesh\(i=4\); move it with tn.device_put",
    ),
    "set in a trace": (
        lambda: tn.jit(set_in_a_trace)(X),
        ShardingError,
        "set_mesh: a function is being traced; call it outside, or pass mesh= to tn.jit",
    ),
    "drawn on the host": (
        lambda: tn.debug.visualize_array_sharding(tn.ones(2)),
        ShardingError,
        "the tensor is on the host, which has all of it",
    ),
    "drawn in a trace": (
        lambda: tn.jit(lambda x: tn.debug.visualize_array_sharding(x))(X),
        ShardingError,
        "XLA places a traced value when it compiles the function",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_mesh_is_refused(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        call()
    assert tn.sharding.get_mesh().empty
