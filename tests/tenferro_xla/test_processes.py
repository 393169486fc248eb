"""Two processes on this machine, each with two virtual devices, under hard timeouts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import tenferro as tn
from tests.tenferro_xla.sliced_networks import OPERANDS, digest, value_and_gradient

PROGRAM = Path(__file__).with_name("process.py")
KILLED, ABORTED, STUCK, TOO_LONG = -9, -6, 75, "too long"


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def two(part: str, seconds: float, devices: int = 2) -> list[tuple[int | str, str]]:
    """The exit statuses and outputs of two processes, each of which has so many devices."""
    count = f"--xla_force_host_platform_device_count={devices}"
    flags = {"XLA_FLAGS": count, "JAX_PLATFORMS": "cpu"}
    root = str(PROGRAM.parents[2])
    port = str(free_port())
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), part, port, str(number)],
            env={**os.environ, **flags, "PYTHONPATH": root},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in (0, 1)
    ]
    ended: list[tuple[int | str, str]] = []
    try:
        for process in processes:
            try:
                text, _ = process.communicate(timeout=seconds)
                ended.append((process.returncode, text))
            except subprocess.TimeoutExpired:
                process.terminate()
                ended.append((TOO_LONG, str(process.wait(10))))
                seconds = 0.1
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return ended


def test_two_processes_compute_together() -> None:
    for status, text in two("together", 100):
        assert status == 0, text[-4000:]


@pytest.mark.exhaustive
def test_shared_slices_have_the_bits_of_one_device_and_an_exception_in_one_ends_both() -> None:
    expected = digest(tn.jit(value_and_gradient)(*OPERANDS))
    (status, text), (other, its) = two("slices", 100)
    assert (status, other) == (1, 1), text[-4000:] + its[-4000:]
    assert expected in text
    assert expected in its
    assert "DistributedError: run: process 0 of 2 has lost another one" in text
    assert "ValueError: of the user\nan exit handler ran\n" in its


@pytest.mark.exhaustive
def test_a_process_is_told_that_another_is_gone() -> None:
    (status, text), (other, _) = two("dies", 60)
    assert (status, other) == (3, KILLED), text[-4000:]
    assert "run: process 0 of 2 has lost another one" in text
    assert "restart all processes from a checkpoint" in text


@pytest.mark.exhaustive
def test_whatever_is_done_after_another_process_was_killed_is_told() -> None:
    (status, text), (other, _) = two("gone", 60, devices=1)
    assert (status, other) == (3, KILLED), text[-4000:]
    said = [line for line in text.splitlines() if line.endswith((": told", ": no error"))]
    assert sum(line.endswith("told") for line in said) >= 2, text[-4000:]
    assert len(said) == sum("told" in line or "Error" in line for line in text.splitlines()), text


@pytest.mark.exhaustive
def test_a_stuck_peer_ends_the_one_that_waits() -> None:
    (status, text), (other, _) = two("sticks", 60)
    assert status == STUCK, text[-4000:]
    assert "has waited for 2 s for another process; call_timeout is 2 s" in text
    assert other == ABORTED  # by the coordination service


@pytest.mark.exhaustive
def test_unbounded_calls_wait_for_each_other_for_ever() -> None:
    by_sigterm = str(-signal.SIGTERM)  # which JAX's preemption service would have taken
    first, (other, text) = two("flight1000", 30)
    assert first == (TOO_LONG, by_sigterm)
    # or by the coordination service, once the first one is gone, also just when it is stopped
    by_service = str(-signal.SIGABRT)
    assert other == ABORTED or (other == TOO_LONG and text in (by_sigterm, by_service)), text
