"""A compilation that takes long says so."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest

import tenferro as tn
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import compile_log


def test_a_long_compilation_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = threading.active_count()
    program = tn.make_program(lambda x: tn.sin(x) + 1, tn.TensorSpec((2,))).exec_program
    with compile_log.announced(program, 0.02):
        time.sleep(0.1)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tenferro.compile", "WARNING")
    said = record.getMessage()
    assert said.startswith("XLA is still compiling a program of 4 instructions. ")
    assert "\n" not in said
    assert all(word in said for word in ('executor="numpy"', "TENFERRO_QUIET"))
    assert "tn.scan" not in said  # there is nothing to repeat
    caplog.clear()
    with compile_log.announced(program, 10.0):
        pass
    caplog.set_level(logging.ERROR, "tenferro.compile")  # as TENFERRO_QUIET=1 does
    with compile_log.announced(program, 0.0):
        assert threading.active_count() == before
        time.sleep(0.02)
    assert not caplog.messages
    assert threading.active_count() == before


def test_long_programs_are_told_of_loops_and_short_ones_of_one_instruction(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def f(x: Any) -> Any:
        for _ in range(60):
            x = tn.sin(x) * tn.cos(x)
        return x

    options = tn.OptimizerOptions.none()
    long = tn.make_program(f, tn.TensorSpec((2,)), options=options).exec_program
    for program in (long, tn.make_program(tn.exp, tn.TensorSpec((2,))).exec_program):
        with compile_log.announced(program, 0.0):
            time.sleep(0.05)
    first, second = caplog.messages
    assert "180 instructions. A loop (tn.scan, tn.fori_loop) in place of repeated code" in first
    assert 'a program of 1 instruction. executor="numpy" does not compile' in second


def test_an_interrupt_while_the_timer_starts_leaves_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    program = tn.make_program(tn.exp, tn.TensorSpec((2,))).exec_program
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), compile_log.announced(program, 0.05):
        raise AssertionError("it is not run")
    time.sleep(0.1)
    assert not caplog.messages


def test_executors_announce_what_they_compile(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compile_log, "SECONDS", 0.0)
    assert tn.jit(lambda x: tn.cos(x) * 3, executor=XlaExecutor())(tn.zeros(2)).tolist() == [3, 3]
    assert "XLA is still compiling a program of " in caplog.text


def test_each_compilation_is_logged_as_it_is_listed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tenferro.compile")
    executor = XlaExecutor()
    tn.jit(lambda x: tn.cos(x) * 3, executor=executor)(tn.zeros(2))
    assert caplog.messages == [str(event) for event in executor.explain().events]
