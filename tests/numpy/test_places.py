"""Devices by name, and trees of arrays on them."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, DeviceError


def test_trees_move_to_devices_and_back() -> None:
    tree = {"w": np.ones(2), "keys": tn.random.key(3), "n": 2.0, "none": None}
    moved = tn.device_put(tree, tn.devices("host")[0])
    assert moved["w"].device == moved["n"].device == "host"
    assert moved["keys"].shape == ()
    back = tn.device_get({**moved, "n": 3})
    assert isinstance(back["w"], np.ndarray)
    assert back["n"] == 3
    assert tn.device_put(1.0).device == tn.devices()[0]
    assert tn.block_until_ready(moved)["w"].tolist() == [1.0, 1.0]
    assert tn.jit(lambda x: tn.device_put(x) + 1, executor="numpy")(1.0).item() == 2.0
    rows = tn.sharding.NamedSharding(tn.make_mesh((1,), ("i",)), tn.P("i"))
    assert tn.ones(2).to_device(rows).sharding == rows


def test_devices_are_names() -> None:
    assert tn.devices() == tn.local_devices() == tn.devices(tn.default_backend())
    assert tn.device_count() == tn.local_device_count() == len(tn.devices())
    with pytest.raises(DeviceError, match=r"^devices: there is no device 'moon'; there are 'host'"):
        tn.devices("moon")


def test_the_setting_of_64_bits_is_that_of_numbers_without_a_dtype() -> None:
    assert tn.config.jax_enable_x64
    with tn.enable_x64(False):
        assert (tn.ones(1).dtype, tn.ones(1, "float64").dtype) == (tn.float32, tn.float64)
        assert not tn.config.jax_enable_x64
        assert not tn.config.x64_enabled
        with tn.enable_x64(True):
            assert tn.ones(1).dtype == tn.float64
    try:
        tn.config.update("jax_enable_x64", False)
        assert tn.config.default_float == "float32"
    finally:
        tn.config.update("jax_enable_x64", True)
    assert tn.config.default_float == "float64"
    with pytest.raises(ConfigError, match=r"^enable_x64 must be True or False, got 64$"):
        tn.enable_x64(64).__enter__()  # type: ignore[arg-type]


def test_settings_of_jax_are_taken_where_they_always_hold() -> None:
    for name, value, text in (
        ("jax_enable_x64", "no", r"^config.update: jax_enable_x64 must be True or False, got 'no'"),
        ("jax_disable_jit", True, r"^config.update: jax_disable_jit is always False; use tn.dis"),
        ("jax_moon", True, r"^config.update: there is no setting 'jax_moon'; the environment"),
    ):
        with pytest.raises(ConfigError, match=text):
            tn.config.update(name, value)


def test_arrays_are_arrays_in_a_trace_too() -> None:
    assert tn.jit(lambda x: isinstance(x, tn.Array) and isinstance(x, tn.ndarray))(1.0).item()
    assert isinstance(tn.ones(1), tn.Array)
    assert not isinstance(np.ones(1), tn.Array)
    assert tn.shape([[1, 2]]) == tn.shape(tn.ones((1, 2))) == (1, 2)
    assert tn.float_(3).dtype == tn.single(3).astype("float64").dtype
