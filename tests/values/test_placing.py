"""Values go where a program runs, and never between devices unasked."""

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DeviceError
from tenferro.values import executor_named, place, where_to_run

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


def test_operands_are_in_one_place() -> None:
    device = HOST.to_device("xla")
    assert where_to_run("f", []) is None
    assert where_to_run("f", [HOST, HOST]) is None
    assert where_to_run("f", [device, device]) is executor_named("xla")
    with pytest.raises(DeviceError, match=r"f: operands are in different places \(f64\[2\] on"):
        where_to_run("f", [device, HOST])
