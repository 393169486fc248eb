"""Places by name, and as JAX has them."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DeviceError

sharding = tn.sharding
NAMES = np.array(tn.devices())[:1]
BY_NAME = sharding.Mesh(NAMES, ("data",))
BY_DEVICE = sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
ROWS = sharding.NamedSharding(BY_NAME, sharding.PartitionSpec("data"))
X = np.arange(4.0)


@pytest.mark.parametrize(
    "put",
    [
        lambda: tn.jit(lambda x: x + 0, mesh=BY_NAME)(X),
        lambda: tn.jit(lambda x: x + 0, mesh=BY_NAME, in_shardings=ROWS)(X),
        lambda: tn.jit(lambda x: tn.with_sharding_constraint(x, ROWS), mesh=BY_DEVICE)(X),
        lambda: tn.device_put(X, ROWS),
        lambda: sharding.from_local(ROWS, X),
        lambda: tn.asarray(X, device=ROWS),
        lambda: tn.arange(4.0, device=ROWS),
    ],
)
def test_a_mesh_of_names_is_one_of_devices(put: Callable[[], tn.Tensor]) -> None:
    result = put()
    np.testing.assert_array_equal(result, X)
    assert result.sharding.mesh == BY_DEVICE
    assert tn.jit(lambda x: x + 1, mesh=BY_DEVICE)(result).device == "mesh(data=1)"


def test_a_mesh_is_made_of_names() -> None:
    assert sharding.make_mesh((1,), ("data",), devices=tn.devices()[:1]) == BY_DEVICE
    unknown = sharding.Mesh(np.array(["cpu:99"]), ("data",))
    with pytest.raises(DeviceError, match="no device 'cpu:99'"):
        tn.jit(tn.exp, mesh=unknown)(X)


@pytest.mark.parametrize(
    "device",
    [jax.devices()[0], *[sharding.SingleDeviceSharding(x) for x in (jax.devices()[0], NAMES[0])]],
)
def test_a_device_of_jax_and_a_sharding_on_one_are_places(device: Any) -> None:
    made = (
        tn.zeros(4, device=device),
        tn.linspace(0, 1, 4, device=device),
        tn.eye(2, device=device),
        tn.zeros_like(X, device=device),
        tn.asarray(X).to_device(device),
        tn.device_put(X, device),
    )
    assert {each.device for each in made} == {NAMES[0]}
    with pytest.raises(DeviceError, match="takes the name of a device or an executor, got 3"):
        tn.zeros(4, device=3)
