"""Steps in processes of their own: a crash or a hang costs one step.

A step prints its records as lines of JSON. It is passed how many seconds it has, and ends itself. A
step that does not, and that prints nothing for a while either, is killed: on a machine that does
much else, to start and to compile may take longer than a step has. Errors of CUDA last as long as
their process, which is why the steps share none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from tenferro_xla.checks.report import DONE, Record, Report

__all__ = ["CANNOT", "Step", "supervise"]

CANNOT = 2
"""The exit status of a step that says that no step can be carried out, such as without a device."""

_LEAST_SECONDS = 2.0
_TAIL = 12
_CRASH, _THERE = "Fatal Python error:", "Current thread"  # as `faulthandler` writes them
_GROUPS = hasattr(os, "killpg")
_ENVIRONMENT = {
    "PYTHONFAULTHANDLER": "1",  # a crash says where it was
    "PYTHONUNBUFFERED": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # others may use the device as well
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step, and its part of the time.

    Attributes:
        name: the name that records have.
        share: its seconds in a run in which every step takes all of its time.
    """

    name: str
    share: float


def supervise(
    steps: Sequence[Step],
    command: Callable[[Step, float], Sequence[str]],
    report: Report,
    seconds: float,
    grace: float = 20.0,
) -> int:
    """Run the steps, one after the other; 0, or `CANNOT` if a step says so.

    `command` makes the command line of a step from the seconds that it has. Time that a step does
    not use is there for the later ones. A step is killed when its time has been over, and it has
    printed nothing, for `grace` seconds; in any case after four times that.
    """
    ends = time.monotonic() + seconds
    for place, step in enumerate(steps):
        left = ends - time.monotonic()
        if left < _LEAST_SECONDS:
            report.add(Record(step.name, "the step", "left out", {"why": "the time is over"}))
            continue
        budget = left * step.share / sum(each.share for each in steps[place:])
        if _run(step, command(step, budget), report, budget, grace) == CANNOT:
            return CANNOT
    return 0


def _run(step: Step, command: Sequence[str], report: Report, seconds: float, grace: float) -> int:
    """The exit status of a step, after its records have been written."""
    with tempfile.TemporaryFile() as said:
        done, killed, status = _written(command, report, said, seconds, grace)
        if status == CANNOT:
            report.say(_tail(said).strip())
        elif not done or status:
            ended = _ending(status) if killed is None else f"killed after {killed:.0f} s"
            found = {"ended": ended, "said": _tail(said)}
            report.add(Record(step.name, "the step", "wrong", found))
    return status


def _written(
    command: Sequence[str], report: Report, said: IO[bytes], seconds: float, grace: float
) -> tuple[bool, float | None, int]:
    """Run a command and write its records.

    Returns whether it was done, after how many seconds it was killed, and its status.
    """
    start = time.monotonic()
    done, life, killed = False, start, None
    ended = threading.Event()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        env={**_ENVIRONMENT, **os.environ},
        start_new_session=_GROUPS,
    ) as child:

        def watch() -> None:
            nonlocal killed
            last = start + seconds + 4 * grace
            while (left := min(max(start + seconds, life) + grace, last) - time.monotonic()) > 0:
                if ended.wait(left):
                    return
            killed = time.monotonic() - start
            if _GROUPS:
                child.send_signal(signal.SIGABRT)  # it says where it is
                ended.wait(1.0)
            _kill(child)

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            assert child.stdout is not None, "it is a pipe"
            for line in child.stdout:
                life = time.monotonic()
                record = Record.read(line)
                if record is not None:
                    report.add(record)
                    done = record.name == DONE
            child.wait()
        finally:
            ended.set()
            watching.join()
            _kill(child)
    return done, killed, child.returncode


def _kill(child: subprocess.Popen[str]) -> None:
    """End a process, with those that it started."""
    try:
        if _GROUPS:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except (ProcessLookupError, PermissionError):
        pass  # it has ended


def _ending(status: int) -> str:
    """How a process ended, in words.

    >>> _ending(3), _ending(-6)
    ('exit status 3', 'SIGABRT')
    """
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _tail(said: IO[bytes]) -> str:
    """The last lines that a process wrote to its standard error; of a crash, where it was."""
    said.seek(0)
    lines = said.read().decode(sys.getdefaultencoding(), errors="replace").splitlines()
    crash = next((i for i, line in enumerate(lines) if line.startswith(_CRASH)), None)
    if crash is None:
        return "\n".join(lines[-_TAIL:])
    there = next((i for i in range(crash, len(lines)) if lines[i].startswith(_THERE)), crash + 1)
    return "\n".join([lines[crash], *lines[there : there + _TAIL]])
