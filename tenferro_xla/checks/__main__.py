"""`python -m tenferro_xla.checks`: check a device, step by step, and write a report."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tenferro.errors import DeviceError
from tenferro_xla.checks.checking import Checking
from tenferro_xla.checks.correctness import environment, precision, smoke
from tenferro_xla.checks.matrices import linear_algebra
from tenferro_xla.checks.parity import parity
from tenferro_xla.checks.report import DONE, Report
from tenferro_xla.checks.resources import caches, calls, memory
from tenferro_xla.checks.speed import costs, einsum, loops
from tenferro_xla.checks.watchdog import CANNOT, Step, supervise
from tenferro_xla.devices import own_settings

STEPS: dict[str, tuple[Callable[[Checking], None], float]] = {
    "environment": (environment, 15),
    "smoke": (smoke, 15),
    "precision": (precision, 30),
    "parity": (parity, 130),
    "linear algebra": (linear_algebra, 80),
    "loops": (loops, 40),
    "einsum": (einsum, 60),
    "memory": (memory, 40),
    "caches": (caches, 25),
    "calls": (calls, 20),
    "costs": (costs, 25),
}
"""What each step does, and its seconds in a run of eight minutes."""

ELSEWHERE = ("caches",)
"""Steps that leave the device to processes that they start: one process at a time may have it."""


_NO_DEVICE = (
    "tenferro doctor says why JAX does not see a GPU; --device cpu:0 --small checks the CPU"
)


def parser() -> argparse.ArgumentParser:
    """The options, all of which `tenferro doctor --gpu` takes."""
    options = argparse.ArgumentParser("tenferro doctor --gpu", description=__doc__)
    options.add_argument("--device", default="gpu", help="the device, such as gpu:1 or cpu:0")
    options.add_argument("--small", action="store_true", help="small sizes, as for a CPU")
    options.add_argument("--only", metavar="STEPS", help=f"steps with commas: {','.join(STEPS)}")
    options.add_argument(
        "--seconds", type=float, help="of all steps together: 480, or 90 with --small"
    )
    options.add_argument(
        "--out", type=Path, default=Path("tenferro-checks"), help="the files, without a suffix"
    )
    options.add_argument("--step", help=argparse.SUPPRESS)  # one step, in this process
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Check a device; 1 if something is wrong, 2 if there is no such device."""
    top = parser()
    options = top.parse_args(argv)
    if options.step is not None:
        return run(options)
    names = options.only.split(",") if options.only else list(STEPS)
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        top.error(f"--only: there is no step {unknown[0]!r}; there are: {', '.join(STEPS)}")
    if not options.device:
        top.error("--device: the name is empty; give one such as gpu:0, or leave --device away")
    if options.seconds is not None and not options.seconds > 0:
        top.error(f"--seconds: {options.seconds:g} is not a time; give more than 0")
    steps = [Step(name, STEPS[name][1]) for name in names]
    try:
        report = Report(options.out)
    except OSError as error:
        top.error(f"--out: {options.out} cannot be written: {error.strerror}")
    whole = options.seconds or (90.0 if options.small else 480.0)
    start = time.monotonic()

    def command(step: Step, seconds: float) -> list[str]:
        module = (sys.executable, "-m", "tenferro_xla.checks")
        where = ["--device", options.device, *(["--small"] if options.small else [])]
        return [*module, "--step", step.name, "--seconds", str(seconds), *where]

    if supervise(steps, command, report, whole) == CANNOT:
        return CANNOT
    return 0 if report.finish(time.monotonic() - start) else 1


def run(options: argparse.Namespace) -> int:
    """Run one step in this process: its records go to the standard output, and nothing else."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as lines:
        os.dup2(2, 1)  # what libraries print is no record
        start = time.monotonic()
        lines.write("\n")  # a sign of life: Python and JAX have started
        lines.flush()
        checking = Checking(options.step, options.device, options.seconds, options.small, lines)
        if options.step not in ELSEWHERE:
            try:
                checking.device  # noqa: B018  # it starts
            except DeviceError as error:
                sys.stderr.write(f"tenferro doctor --gpu: {error}; {_NO_DEVICE}\n")
                return CANNOT
        function, _ = STEPS[options.step]
        with own_settings():
            with checking.attempt("the step"):
                function(checking)
            checking.note(DONE, seconds=time.monotonic() - start)
    return 0


if __name__ == "__main__":
    sys.exit(main())
