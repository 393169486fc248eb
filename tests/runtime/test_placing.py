"""Values go where a program runs, and never between devices unasked."""

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DeviceError
from tenferro.runtime import executor_named, place, where_to_run

HOST = tn.Tensor([1.0, 2.0])


def test_host_arrays_are_put_on_the_executor() -> None:
    xla = executor_named("xla")
    assert place("f", HOST, None) is HOST.data
    buffer = place("f", HOST, xla)
    assert xla.owns(buffer)
    np.testing.assert_array_equal(xla.get(buffer), HOST)


def test_device_arrays_stay() -> None:
    device = HOST.to_device("xla")
    assert place("f", device, executor_named("xla")) is device.data
    txla = pytest.importorskip("tenferro_xla")
    assert place("f", device, txla.XlaExecutor()) is device.data
    for executor in (None, executor_named("numpy")):
        with pytest.raises(DeviceError, match=r"f: f64\[2\] is on .*, not on numpy; move it with"):
            place("f", device, executor)


def test_operands_on_the_host_go_where_the_others_are() -> None:
    xla, device = executor_named("xla"), HOST.to_device("xla")
    assert where_to_run("f", []) is None
    assert where_to_run("f", [HOST, HOST]) is None
    for tensors in ([device, device], [device, HOST], [HOST, device], [HOST, device, HOST]):
        assert where_to_run("f", tensors) is xla
    other = pytest.importorskip("tenferro_xla").XlaExecutor()
    made = tn.Tensor.wrap(other.put(np.ones(2)), other)
    assert where_to_run("f", [made, HOST, device]) in (xla, other)
    assert (made + device + HOST).tolist() == [3.0, 5.0]


def test_operands_on_different_devices_are_refused() -> None:
    elsewhere = tn.Tensor.wrap(np.ones(2), tn.GraphExecutor(tn.NumpyBackend()))
    text = (
        r"f: operands are in different places \(f64\[2\] on numpy and f64\[2\] on cpu:0\); move "
        r"them with to_device\('numpy'\)"
    )
    with pytest.raises(DeviceError, match=text):
        where_to_run("f", [elsewhere, HOST, HOST.to_device("xla")])


def test_every_placement_is_a_device_to_go_to() -> None:
    device = HOST.to_device("xla")
    for tensor in (HOST, device):
        assert tensor.to_device(tensor.placement) is tensor
        assert device.to_device(tensor.placement).placement == tensor.placement
        assert HOST.to_device(tensor.placement).placement == tensor.placement
    with pytest.raises(DeviceError, match="no device 'cpu:77'; there are: cpu:0"):
        HOST.to_device("cpu:77")
