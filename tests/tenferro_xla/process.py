"""What one of two processes does; `test_processes` starts them. Arguments: part, port, process."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.errors import (
    ConfigError,
    DeviceError,
    DistributedError,
    ShardingError,
)
from tenferro_xla import XlaExecutor
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient

P = tn.sharding.PartitionSpec


def say(word: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def refused(call: Any, kind: type[Exception], text: str) -> None:
    """Check that a call raises an error whose text has these words."""
    found = "no error"
    try:
        call()
    except kind as error:
        found = str(error)
    assert text in found, found


def together(me: int) -> None:
    """Training, gathering, blocks and errors."""
    mesh = tn.sharding.make_mesh((4,), ("data",))
    rows, whole = (tn.sharding.NamedSharding(mesh, spec) for spec in (P("data"), P()))

    def loss(w: Any, x: Any) -> Any:
        return tn.sum(tn.tanh(x @ w) ** 2)

    random = np.random.default_rng(3)
    w0, batches = random.normal(size=(3, 2)), random.normal(size=(5, 8, 3))
    step = tn.jit(
        lambda w, x: w - 0.1 * tn.grad(loss)(w, x),
        mesh=mesh,
        in_shardings=(whole, rows),
        out_shardings=whole,
        donate_argnums=0,
    )
    w = tn.device_put(w0, whole)
    for x in batches:
        w = step(w, x)
    expected = w0
    alone = tn.jit(lambda w, x: w - 0.1 * tn.grad(loss)(w, x), executor="numpy")
    for x in batches:
        expected = alone(expected, x)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-12)  # each process has all of it

    own = batches[0][4 * me : 4 * me + 4]
    x = tn.sharding.from_local(rows, own)
    refused(x.numpy, DeviceError, "numpy: f64[8,3] lies on 2 processes; tn.sharding.gather(x)")
    shown = "shape=(8, 3), dtype=float64, sharding=P('data',), on mesh(data=4) of 2 processes"
    assert {repr(x), str(x), f"{x}", f"{[x]}"[1:-1]} == {f"Tensor({shown})"}, repr(x)
    assert repr(w).startswith("Tensor([["), repr(w)
    refused(
        lambda: tn.sharding.from_local(rows, own[:3]),
        ShardingError,
        "from_local: P('data',) divides axis 0 into 4 parts, of which this process holds 2; its "
        "block must have a multiple of 2 elements there, such as f64[4,3], but f64[3,3] was given",
    )
    refused(
        lambda: tn.sharding.from_local(rows, batches[0], (8, 3)),
        ShardingError,
        "from_local: of f64[8,3], divided by P('data',) on mesh(data=4), this process holds "
        "f64[4,3], but f64[8,3] was given",
    )
    assert tn.sharding.from_local(rows, own, (8, 3)).shape == (8, 3)
    np.testing.assert_array_equal(tn.sharding.gather({"x": x})["x"], batches[0])
    np.testing.assert_allclose(tn.sum(x * 2).item(), 2 * batches[0].sum(), rtol=1e-12)
    assert tn.ones(3).to_device("xla").numpy().sum() == 3  # a device of this process

    limited = tn.jit(lambda x: x + 1, mesh=mesh, memory_limit=10**9 + me)
    refused(lambda: limited(x), DistributedError, "all must make the same calls in the same order")
    of_device = tn.jit(lambda x: x + 2, mesh=mesh, memory_limit="device")
    refused(lambda: of_device(x), ConfigError, "must compile the same program; pass a number")

    filtered = tn.jit(lambda x: tn.sum(tn.dynamic_truncate(x, tn.sum(x * x))), mesh=mesh)
    refused(
        lambda: filtered(batches[0][0]),
        DistributedError,
        "data decide sizes in the program",
    )
    refused(tn.sharding.initialize, DistributedError, "call it once, before the first array")
    other = tn.jit((lambda x: x + 1) if me else (lambda x: x + 2), mesh=mesh)
    refused(
        lambda: other(x),
        DistributedError,
        "all must make the same calls in the same order",
    )


def flight(me: int, bound: int) -> None:
    """Many independent calls with a collective, without waiting for any."""
    from_all = tn.sharding.make_mesh((4,), ("data",))
    executor = XlaExecutor(mesh=from_all, in_flight=bound)
    rows = tn.sharding.NamedSharding(from_all, P("data"))
    total = tn.jit(lambda x: tn.sum(x * x), executor=executor, in_shardings=rows)
    x = tn.device_put(np.arange(8.0), rows)
    results = [total(x) for _ in range(200)]
    assert all(result.item() == 140.0 for result in results)


def dies(me: int) -> None:
    """Process 1 is killed in a loop; process 0 is told."""
    mesh = tn.sharding.make_mesh((4,), ("data",))
    total = tn.jit(lambda x: tn.sum(x * x), mesh=mesh, in_shardings=P("data"))
    x = tn.device_put(np.arange(8.0), tn.sharding.NamedSharding(mesh, P("data")))
    try:
        for number in range(10**6):
            total(x).item()
            if me == 1 and number == 5:
                os.kill(os.getpid(), signal.SIGKILL)
    except DistributedError as error:
        say(str(error))
        os._exit(3)


def gone(me: int) -> None:
    """Process 1 is killed between calls; whatever process 0 does next is told."""
    mesh = tn.sharding.make_mesh((2,), ("data",))
    rows, whole = (tn.sharding.NamedSharding(mesh, spec) for spec in (P("data"), P()))
    total = tn.jit(lambda x: tn.sum(x * x), mesh=mesh, in_shardings=rows, out_shardings=whole)
    scaled = tn.jit(lambda s, x: s * x, mesh=mesh, in_shardings=(whole, rows))
    summed = tn.jit(lambda x: (tn.sum(x), x + 1), mesh=mesh, in_shardings=rows)
    x = tn.device_put(np.arange(8.0), rows)
    scaled(total(x), x).block_until_ready()
    summed(x)[0].item()
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)

    def told(name: str, call: Any) -> Any:
        try:
            result = call()
        except DistributedError:
            say(f"{name}: told")
        except BaseException as error:
            say(f"{name}: {type(error).__name__}: {error}")
        else:
            say(f"{name}: no error")
            return result

    lost = told("call", lambda: total(x))
    if lost is not None:
        told("read", lost.numpy)
        told("print", lambda: repr(lost))
        told("wait", lost.block_until_ready)
        told("further call", lambda: scaled(lost, x).block_until_ready())
        told("eager", lambda: (lost + 1).block_until_ready())
        told("moved", lambda: tn.device_put(lost, rows).block_until_ready())
        told("gather", lambda: tn.sharding.gather(scaled(lost, x)))
    several = told("several", lambda: summed(x))
    if several is not None:
        told("one of several", several[0].item)
    os._exit(3)


def sticks(me: int) -> None:
    """Process 1 stops for good; the watchdog of process 0 ends it."""
    mesh = tn.sharding.make_mesh((4,), ("data",))
    total = tn.jit(lambda x: tn.sum(x * x), mesh=mesh, in_shardings=P("data"))
    x = tn.device_put(np.arange(8.0), tn.sharding.NamedSharding(mesh, P("data")))
    total(x).item()
    if me == 1:
        say("stuck")
        time.sleep(100)
    total(x).item()


def slices(me: int) -> None:
    """The bits of a network whose slices all four devices share."""
    mesh = tn.sharding.make_mesh((4,), ("data",))
    say(digest(tn.jit(value_and_gradient, mesh=mesh, slices="data")(*OPERANDS)))


def raises(me: int) -> None:
    """Process 1 ends by an exception; the call of process 0 that waits for it has an error."""
    mesh = tn.sharding.make_mesh((4,), ("data",))
    total = tn.jit(lambda x: tn.sum(x * x), mesh=mesh, in_shardings=P("data"))
    x = tn.device_put(np.arange(8.0), tn.sharding.NamedSharding(mesh, P("data")))
    total(x).item()
    if me == 1:
        atexit.register(say, "an exit handler ran")
        raise ValueError("of the user")
    total(x).item()


def main() -> None:
    part, port, me = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tn.sharding.initialize(
        f"127.0.0.1:{port}", 2, me, call_timeout=2.0 if part == "sticks" else None
    )
    if part.startswith("flight"):
        flight(me, int(part.removeprefix("flight")))
    else:
        parts = {
            "together": together,
            "dies": dies,
            "gone": gone,
            "sticks": sticks,
            "slices": slices,
        }
        parts[part](me)
    if part == "together":
        flight(me, 1)
    if part == "slices":
        raises(me)
    tn.sharding.shutdown()
    say("done")


if __name__ == "__main__":
    main()
