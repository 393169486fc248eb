"""XLA in a process that was forked from one where it ran."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tenferro as tn

FORKED = """
import os
import numpy as np
import tenferro as tn
print(float(tn.jit(lambda x: tn.sum(x * 2))(np.ones(3))), flush=True)
child = os.fork()
if child == 0:
    try:
        tn.jit(lambda x: tn.sum(x * 3))(np.ones(3))
    except tn.errors.DeviceError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_in_a_forked_process_compiling_is_refused_since_it_would_wait_for_ever() -> None:
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
    assert printed.startswith("6.0\ncompile: XLA ran in process ")
    assert "start processes with the method 'spawn'" in printed
