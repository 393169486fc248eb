"""Computing with several processes: starting, agreeing on what is compiled, and stopping."""

from __future__ import annotations

import atexit
import hashlib
import itertools
import logging
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax._src import distributed  # see decision 029: the only way to the coordination service

from tenferro.config import count, flag, seconds
from tenferro.errors import ConfigError, DistributedError
from tenferro_xla.in_flight import FLIGHT

__all__ = ["agree_among_processes", "initialize", "shutdown"]

_numbers: defaultdict[tuple[int, ...], Iterator[int]] = defaultdict(itertools.count)
"""The next number of a compilation, for the processes that make it together."""


@dataclass(slots=True)
class _Group:
    """What this process knows of the processes that it has joined."""

    joined: bool = False
    timeout: float = 60.0


_group = _Group()


@atexit.register
def _leave() -> None:
    """End a process that an exception ends, without waiting for the others.

    The exit handler of JAX would wait until they end too, for minutes, while they wait for this one
    in a call. When it is gone, their call has an error. Exit handlers that were registered after
    this module was imported have run; all later ones would come after that of JAX.
    """
    interactive = hasattr(sys, "ps1")  # of which the last exception has ended nothing
    if not _group.joined or interactive or getattr(sys, "last_value", None) is None:
        return
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def initialize(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    heartbeat: int = 10,
    timeout: int = 60,
    call_timeout: float | None = None,
    preemption: bool = False,
) -> None:
    """Join this process to others, which then see the devices of all of them.

    Every process calls it once, before anything else that uses a device. Slurm and Open MPI are
    recognized: there, no argument is needed.

    Args:
        coordinator: host and port at which process 0 listens, such as `"10.0.0.1:1234"`.
        processes: how many there are.
        process: the number of this one.
        heartbeat: seconds after which a process that is gone ends the others.
        timeout: seconds to wait for others to start, and to compile the same program.
        call_timeout: if a call waits longer for other processes, this one is ended with exit status
            75; None waits for ever.
        preemption: let JAX handle SIGTERM, as its preemption service does; a process that hangs can
            then not be ended by it.

    Raises:
        ConfigError: an argument is not of its kind, such as a number of seconds.
        DistributedError: devices have been used before, or the processes did not find each other.
    """
    _check(coordinator, processes, process)
    flag("initialize: preemption", preemption)
    count("initialize: heartbeat", heartbeat, 1, "a number of seconds")
    count("initialize: timeout", timeout, 1, "a number of seconds")
    if call_timeout is not None:
        call_timeout = seconds("initialize: call_timeout", call_timeout)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # type: ignore[no-untyped-call]
    jax.config.update("jax_enable_preemption_service", preemption)  # type: ignore[no-untyped-call]
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=heartbeat,
        )
    except (RuntimeError, ValueError) as error:
        raise DistributedError(f"initialize: {_explained(str(error))}") from error
    _group.joined, _group.timeout = True, timeout
    if call_timeout is not None:
        FLIGHT.watch(call_timeout)


def _check(coordinator: object, processes: object, process: object) -> None:
    """Raise ConfigError unless each of these is of its kind, or None."""
    if coordinator is not None and not _is_address(coordinator):
        raise ConfigError(
            f'initialize: coordinator must be a host and a port, such as "10.0.0.1:1234", '
            f"got {coordinator!r}"
        )
    if processes is not None:
        count("initialize: processes", processes, 1)
    if process is not None:
        number = count("initialize: process", process, 0)
        if isinstance(processes, int) and number >= processes:
            raise ConfigError(
                f"initialize: process must be below the number of processes, {processes}, "
                f"got {number}"
            )


def _is_address(value: object) -> bool:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    return bool(host) and port.isdecimal()


def _explained(text: str) -> str:
    """What an error of JAX says of a call of `initialize`."""
    if "before any" in text:
        return "this process has used a device already; call it once, before the first array"
    if "only be called once" in text:
        return "it has been called already; call it once, before the first array"
    if "should be defined" in text:
        return (
            f"{text.rstrip('.')}; pass coordinator, processes and process, or start the processes "
            "with srun or mpirun"
        )
    return text.partition("\n")[0]


def shutdown() -> None:
    """Leave the other processes; all of them call it, when no computation is left.

    Raises:
        DistributedError: another process is gone.
    """
    _group.joined = False
    try:
        jax.distributed.shutdown()  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        raise DistributedError(f"shutdown: {str(error).splitlines()[0]}") from error


def agree_among_processes(processes: Sequence[int], program: Sequence[object]) -> None:
    """Compare what this process is about to compile with what the others are.

    A program that only some of them compile would wait for the others for ever when it is called.

    Raises:
        DistributedError: they compile other programs, or do not come.
    """
    if len(processes) < 2:
        return
    client = distributed.global_state.client
    if client is None:
        raise DistributedError(
            "compile: the mesh has devices of several processes, which tn.sharding.initialize has "
            "not joined"
        )
    group = tuple(processes)
    digest = hashlib.sha256(repr(program).encode()).hexdigest()
    root = f"tenferro/{'-'.join(map(str, group))}/{next(_numbers[group])}"
    me = jax.process_index()
    try:
        client.key_value_set(f"{root}/{me}", digest)
    except jax.errors.JaxRuntimeError as error:
        text = str(error).partition("\n")[0]
        raise DistributedError(f"compile: the first process is gone ({text})") from error
    for other in group[1:] if me == group[0] else group[:1]:  # the first compares with all
        found = _digest_of(client, f"{root}/{other}", other)
        if found != digest:
            (one, its), (two, others) = sorted([(me, digest), (other, found)], reverse=True)
            raise DistributedError(
                f"compile: process {one} compiles program {its[:4]}…, process {two} "
                f"{others[:4]}…; all must make the same calls in the same order"
            )


def _digest_of(client: Any, key: str, process: int) -> str:
    try:
        found: str = client.blocking_key_value_get(key, int(1000 * _group.timeout))
    except jax.errors.JaxRuntimeError as error:
        raise DistributedError(
            f"compile: process {process} does not compile a program, and has not for "
            f"{_group.timeout:g} s; all must make the same calls in the same order"
        ) from error
    return found
