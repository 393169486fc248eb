"""A compilation that takes long says so."""

from __future__ import annotations

import dataclasses
import threading
import time

import pytest

import tenferro as tn
from tenferro.config import config
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import slow


def test_a_long_compilation_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = threading.active_count()
    program = tn.make_program(lambda x: tn.sin(x) + 1, tn.TensorSpec((2,))).exec_program
    with slow.announced(program, 0.02):
        time.sleep(0.1)
    said = capsys.readouterr().err
    assert said.startswith("tenferro: XLA is still compiling a program of 4 instructions. ")
    assert said.count("\n") == 1
    assert all(word in said for word in ("tn.scan", 'executor="numpy"', "TENFERRO_QUIET"))
    with slow.announced(program, 10.0):
        pass
    monkeypatch.setattr(slow, "config", dataclasses.replace(config, quiet=True))
    with slow.announced(program, 0.0):
        time.sleep(0.02)
    assert capsys.readouterr().err == ""
    assert threading.active_count() == before


def test_executors_announce_what_they_compile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow, "SECONDS", 0.0)
    assert tn.jit(lambda x: tn.cos(x) * 3, executor=XlaExecutor())(tn.zeros(2)).tolist() == [3, 3]
    assert "XLA is still compiling a program of " in capsys.readouterr().err
