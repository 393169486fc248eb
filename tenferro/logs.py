"""The loggers of tenferro, and where they write while a program configures no logging.

`tenferro.dump.<stage>` prints the stages of `TENFERRO_DUMP` (DEBUG), `tenferro.compile` what XLA
compiles (INFO) and what it compiles for long (WARNING), `tenferro.cache` faults of caches on disk
(WARNING), `tenferro.distributed` why a process ends (CRITICAL).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tenferro.config import Config, config

_TOP, _DUMP, _COMPILE = "tenferro", "tenferro.dump", "tenferro.compile"
_HANDLER = "tenferro.stderr"


def logger(area: str) -> logging.Logger:
    """The logger `tenferro.<area>`.

    >>> logger("dump.passes").name
    'tenferro.dump.passes'
    """
    return logging.getLogger(f"{_TOP}.{area}")


class StandardError(logging.Handler):
    """Writes to standard error what no other handler takes, as `logging.lastResort` does.

    Texts of programs are written as they are, all else with the name of its logger. The stream is
    looked up for each record, since programs replace `sys.stderr`.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if any(each is not self for each in handlers(logging.getLogger(record.name))):
            return
        try:
            text = self.format(record)
            if not record.name.startswith(f"{_DUMP}."):
                text = f"{record.name}: {text}"
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except Exception:  # logging is not to stop a program
            self.handleError(record)


def handlers(origin: logging.Logger) -> Iterator[logging.Handler]:
    """The handlers that get the records of a logger; those that ignore them are left out."""
    at: logging.Logger | None = origin
    while at is not None:
        yield from (each for each in at.handlers if not isinstance(each, logging.NullHandler))
        at = at.parent if at.propagate else None


def configure(settings: Config) -> None:
    """Set the levels that settings ask for; one that the program has set stays.

    A stage is printed where its logger is at DEBUG. `tenferro.dump` has a level too, so that the
    root logger at DEBUG does not print every program of a process.
    """
    levels = {_DUMP: logging.WARNING}
    levels |= {f"{_DUMP}.{stage}": logging.DEBUG for stage in settings.dump}
    if settings.quiet:
        levels[_COMPILE] = logging.ERROR
    for name, level in levels.items():
        if logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(level)


@contextmanager
def log_compiles(new_val: bool = True) -> Iterator[None]:
    """A block in which each compilation by XLA is logged, or none if `new_val` is false.

    It sets the level of the logger `tenferro.compile`, in all threads. As `jax.log_compiles`.

    >>> import logging
    >>> with tn.log_compiles():
    ...     logging.getLogger("tenferro.compile").level == logging.INFO
    True
    """
    compilations = logging.getLogger(_COMPILE)
    before = compilations.level
    compilations.setLevel(logging.INFO if new_val else logging.ERROR)
    try:
        yield
    finally:
        compilations.setLevel(before)


def install() -> None:
    """Give the logger `tenferro` its handler, in place of one that an import before has made."""
    top = logging.getLogger(_TOP)
    for former in [each for each in top.handlers if each.name == _HANDLER]:
        top.removeHandler(former)
    handler = StandardError()
    handler.name = _HANDLER
    top.addHandler(handler)


install()
configure(config)
