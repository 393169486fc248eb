"""Methods and attributes of arrays have the results of those of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, BindingError, PytreeError

X = np.arange(6.0).reshape(2, 3)
METHODS: list[Callable[[Any], Any]] = [
    lambda x: x.repeat(2),
    lambda x: x.repeat(2, axis=1),
    lambda x: x.take(np.array([0, 1]), axis=1),
    lambda x: x.conjugate(),
    lambda x: x.diagonal(),
    lambda x: x.ravel().searchsorted(2.5),
    lambda x: x.argpartition(1),
    lambda x: x.ptp(axis=0),
    lambda x: x.compress(np.array([True, False]), axis=0),
    lambda x: x.astype("int64").ravel()[:2].choose([np.arange(2), np.arange(2) + 5], mode="clip"),
    lambda x: x.view("int64"),
    lambda x: x.view("int32"),
    lambda x: x.view("int32").view("float64"),
]


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("number", range(len(METHODS)))
def test_a_method_has_the_result_of_jax(number: int) -> None:
    method = METHODS[number]
    with jax.enable_x64(True):
        expected = np.asarray(method(jnp.asarray(X)))
    for found in (method(tn.asarray(X)), tn.jit(method)(X)):
        np.testing.assert_array_equal(found, expected)


def test_places_and_memory() -> None:
    host, device = tn.asarray(X), tn.jit(lambda x: x)(X)
    assert host.devices() == {"host"}
    assert device.devices() == {device.device}
    assert [each.tolist() for each in host.nonzero()] == [each.tolist() for each in X.nonzero()]
    assert (host.item(3), host.item(1, 2), host.tobytes()) == (3.0, 5.0, X.tobytes())
    assert host.aval == tn.TensorSpec((2, 3))
    assert [each.item() for each in host.flat] == [*X.flat]
    assert tn.array([1, 256], dtype="int16").byteswap().tolist() == [256, 1]
    assert host.is_ready()
    assert device.block_until_ready().is_ready()
    assert 0 not in (host.unsafe_buffer_pointer(), device.unsafe_buffer_pointer())
    assert host.on_device_size_in_bytes() == X.nbytes
    device.copy_to_host_async()
    assert not device.is_deleted()
    device.delete()
    assert (device.is_deleted(), host.is_deleted()) == (True, False)
    with pytest.raises(AxisError, match=r"item: .* out of bounds"):
        host.item(99)


def test_what_is_compiled_is_called() -> None:
    f = tn.jit(lambda x, n: {"a": x["u"] * n}, static_argnums=1)
    lowered = f.lower({"u": X}, 2)
    compiled = lowered.compile()
    assert (compiled({"u": X})["a"] == 2 * X).all()
    assert lowered.out_info == f.eval_shape({"u": X}, 2) == {"a": tn.TensorSpec((2, 3))}
    traced = f.trace({"u": X}, 2)
    assert traced.out_info == lowered.out_info
    assert "multiply" in str(traced.jaxpr)
    assert (traced.lower().compile()({"u": X})["a"] == 2 * X).all()
    assert compiled.cost_analysis()["flops"] == 6
    assert compiled.memory_analysis().output_size_in_bytes == X.nbytes
    assert lowered.as_text() == lowered.stablehlo()
    assert "HloModule" in lowered.as_text("hlo")
    assert "multiply" in str(lowered.compiler_ir())
    assert lowered.in_tree == compiled.in_tree
    assert lowered.in_avals == compiled.in_avals == (({"u": tn.TensorSpec((2, 3))},), {})
    assert not lowered.args_info[0][0]["u"].donated
    (x, y), _ = tn.jit(lambda x, y: x + y, donate_argnums=1).lower(X, 1.0).args_info
    assert (x.shape, y.dtype, x.donated, y.donated) == ((2, 3), np.float64, False, True)
    with pytest.raises(PytreeError, match="compiled for arguments of the structure"):
        compiled(X)
    with pytest.raises(BindingError, match="is declared 2"):
        compiled({"u": np.ones((3, 3))})
    f.clear_cache()
    assert f.stats().entries == 0


def test_element_types_have_names() -> None:
    assert (tn.float32.__name__, tn.bool.__name__) == ("float32", "bool")


def test_calls_that_compilers_know() -> None:
    assert tn.lax.composite(lambda x: x + 1, "my.add", version=2)(1.0) == 2.0
    assert tn.jit(lambda x: tn.lax.platform_dependent(x, cpu=tn.cos, tpu=tn.sin))(0.0) == 1.0
    assert tn.lax.platform_dependent(0.0, default=tn.cos) == 1.0
    with pytest.raises(Exception, match="there is no function for"):
        tn.lax.platform_dependent(0.0, tpu=tn.cos)
    assert tn.lax.platform_dependent(0.0, abacus=tn.cos, default=tn.sin) == 0.0
