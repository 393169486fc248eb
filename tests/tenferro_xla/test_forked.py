"""XLA in a process that was forked from one where it ran."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tenferro as tn

# arrays of this size are computed, and copied, by the threads of XLA
FORKED = """
import multiprocessing
import os
import pickle
import numpy as np
import tenferro as tn
import tenferro_xla

big = np.ones((600, 600))

def refused(name, call):
    try:
        call()
    except tn.errors.ForkedError as error:
        assert "start processes with the method 'spawn'" in str(error), error
        print(name, str(error).partition(" ran in process")[0], flush=True)
    else:
        print(name, "is not refused", flush=True)

def shape_and_place(x):
    return x.shape, x.device, float(x.numpy().sum())

f = tn.jit(lambda x: x @ x + 1)
done = f(big).block_until_ready()
several = tn.jit(lambda x: (x @ x, tn.dynamic_truncate(x, tn.sum(x[0, :2]))))
several(big)
symbolic = tn.jit(lambda x: tn.sum(x @ x), symbolic={"x": ("n", "n")})
symbolic(big)
exported = tenferro_xla.export(tn.make_program(lambda x: x @ x, big), platforms=("cpu",))
exported.run({"x": big})
mesh = tn.sharding.make_mesh((1,), ("data",))
divided = tn.jit(lambda x: x @ x, mesh=mesh)
rows = tn.sharding.NamedSharding(mesh, tn.sharding.PartitionSpec("data"))
divided(big)
slow = tn.jit(lambda x: tn.fori_loop(0, 50, lambda i, y: y @ x * 1e-3, x))
pending = slow(big)

child = os.fork()
if child == 0:
    refused("new", lambda: tn.jit(lambda x: tn.sum(x * 3))(np.ones(3)))
    refused("call", lambda: f(big))
    refused("call on the device", lambda: f(done))
    refused("trees", lambda: several(big))
    refused("named sizes", lambda: symbolic(big))
    refused("artifact", lambda: exported.run({"x": big}))
    refused("mesh", lambda: divided(big))
    refused("eager", lambda: done + 1)
    refused("upload", lambda: tn.asarray(big).to_device("cpu:0"))
    refused("device_put", lambda: tn.device_put(big))
    refused("divided", lambda: tn.device_put(done, rows))
    refused("block", lambda: tn.sharding.from_local(rows, big))
    refused("wait", pending.block_until_ready)
    refused("read", pending.numpy)
    refused("print", lambda: repr(pending))
    refused("exchange", lambda: np.from_dlpack(pending))
    refused("data", lambda: pending.data)
    print("elements", shape_and_place(done), flush=True)
    print("pickled", shape_and_place(pickle.loads(pickle.dumps(done))), flush=True)
    print("numpy", tn.jit(lambda x: tn.sum(x @ x), executor="numpy")(big).item(), flush=True)
    print("not traced", (tn.asarray(big) @ big).numpy().sum(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print("pool", pool.map(shape_and_place, [done])[0], flush=True)
print("parent", shape_and_place(f(big)), flush=True)
os._exit(0)
"""

EXPECTED = """\
new compile: XLA
call run: XLA
call on the device run: XLA
trees upload: XLA
named sizes run: XLA
artifact run: XLA
mesh upload: XLA
eager compile: XLA
upload upload: XLA
device_put upload: XLA
divided device_put: XLA
block from_local: XLA
wait block_until_ready: XLA
read get: XLA
print get: XLA
exchange data: XLA
data data: XLA
elements ((600, 600), 'cpu:0', 216360000.0)
pickled ((600, 600), 'host', 216360000.0)
numpy 216000000.0
not traced 216000000.0
pool ((600, 600), 'host', 216360000.0)
parent ((600, 600), 'cpu:0', 216360000.0)
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_in_a_forked_process_what_would_wait_for_ever_is_refused() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    environ = {**os.environ, "PYTHONPATH": str(Path(tn.__file__).parents[1])}
    # its own group: a child that waits would outlive its parent
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environ, start_new_session=True
    ) as process:
        try:
            printed = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert printed == EXPECTED
