"""A compilation that takes long says so, once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tenferro.config import config
from tenferro.exec_ir import ExecProgram

SECONDS = 5.0
"""How long a compilation is silent."""


@contextmanager
def announced(program: ExecProgram, seconds: float | None = None) -> Iterator[None]:
    """Say on standard error if what is compiled here takes longer than `SECONDS`.

    `TENFERRO_QUIET=1` turns it off. No thread is left behind.
    """
    if config.quiet:
        yield
        return
    timer = threading.Timer(SECONDS if seconds is None else seconds, _say, [program])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _say(program: ExecProgram) -> None:
    sys.stderr.write(
        f"tenferro: XLA is still compiling a program of {len(program.instructions)} instructions. "
        "A loop (tn.scan, tn.fori_loop) in place of repeated code compiles faster; "
        'executor="numpy" does not compile. TENFERRO_QUIET=1 hides this.\n'
    )
