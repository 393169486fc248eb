"""What is compiled in the background gives way to calls that are being answered."""

import threading
import time

import pytest

from tenferro.compiler import background
from tenferro.compiler.background import Background, Stopped

SECONDS = 20.0


def finish(work: threading.Thread) -> None:
    work.join(SECONDS)
    assert not work.is_alive()


def test_what_compiles_waits_while_a_call_is_answered() -> None:
    shared, order, answering = Background(), [], threading.Event()

    def compiling() -> None:
        assert answering.wait(SECONDS)
        with shared.compiling():
            shared._here.since -= SECONDS  # it has worked for long
            shared.give_way()
            order.append("compiled")

    thread = threading.Thread(target=compiling)
    thread.start()
    with shared.answering():
        answering.set()
        time.sleep(background.HEAD_START + 0.2)  # the first wait has ended, the second has not
        order.append("answered")
    finish(thread)
    assert order == ["answered", "compiled"]


def test_it_waits_at_most_as_long_as_it_has_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "HEAD_START", 0.01)
    shared = Background()
    with shared.answering(), shared.compiling():
        for _ in range(3):
            shared.give_way()
    assert shared._answering == 0


def test_other_threads_do_not_give_way() -> None:
    shared = Background()
    with shared.answering():
        shared.give_way()
        assert not shared.is_here
    with shared.compiling():
        assert shared.is_here
    assert not shared.is_here


def test_the_end_of_the_process_stops_it_at_its_next_step() -> None:
    shared = Background()
    with shared.compiling():
        shared.stop()
        with pytest.raises(Stopped):
            shared.give_way()
    shared.reset()
    with shared.compiling():
        shared.give_way()


def test_calls_of_several_threads_are_answered_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE", SECONDS)
    shared, numbers = Background(), []

    def work() -> None:
        for _ in range(50):
            with shared.answering(), shared.answering():  # a call may be part of another
                numbers.append(shared._answering)

    with shared.compiling():
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            finish(thread)
    assert numbers == [2] * 400


def test_a_call_that_waits_too_long_is_answered_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "PATIENCE", 1e-3)
    shared, together = Background(), threading.Barrier(2)

    def work() -> None:
        with shared.answering():
            together.wait(SECONDS)

    with shared.compiling():
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            finish(thread)
    assert shared._answering == 0
