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
    try:
        timer.start()  # an interrupt may come while it waits for the thread
        yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()


MANY = 100
"""Instructions from which repeated code may be the reason."""


def _say(program: ExecProgram) -> None:
    count = sum(len(part.instructions) for part in program.walk())
    advice = ""
    if count >= MANY:
        advice = "A loop (tn.scan, tn.fori_loop) in place of repeated code compiles faster; "
    sys.stderr.write(
        f"tenferro: XLA is still compiling a program of {count} "
        f"instruction{'' if count == 1 else 's'}. {advice}"
        'executor="numpy" does not compile. TENFERRO_QUIET=1 hides this.\n'
    )
