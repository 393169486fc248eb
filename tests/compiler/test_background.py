"""Calls that take turns while something is compiled in the background."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tenferro.compiler import background
from tenferro.compiler.background import Turns

SECONDS = 20.0


class Recorder:
    """Counts the calls that are answered at one time, and the pauses."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = 0
        self.pauses: list[float] = []

    @contextmanager
    def call(self) -> Iterator[None]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        yield
        with self.lock:
            self.inside -= 1


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(background.time, "sleep", recorder.pauses.append)
    return recorder


def in_threads(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)


def called(turns: Turns, recorder: Recorder, count: int, times: int = 50) -> None:
    """Calls of so many threads, which begin together."""
    together = threading.Barrier(count)

    def work() -> None:
        together.wait(SECONDS)
        for _ in range(times):
            with turns.answering(), recorder.call():
                sum(range(1000))

    in_threads(count, work)


def test_calls_take_turns_while_python_code_runs_in_the_background(recorder: Recorder) -> None:
    turns = Turns()
    with turns.compiling():
        called(turns, recorder, 8)
    assert recorder.most == 1


def waits(turns: Turns) -> None:
    """Returns when another call waits for its turn."""
    end = time.monotonic() + SECONDS
    while not turns._waiting:
        assert time.monotonic() < end, "nobody waits"


def one_after_another(turns: Turns, second: Callable[[], None]) -> None:
    """A call, and what comes while it is answered."""
    begun = threading.Event()

    def first() -> None:
        with turns.answering():
            begun.set()
            waits(turns)

    def then() -> None:
        assert begun.wait(SECONDS)
        second()

    works = [first, then]
    with turns.compiling():
        in_threads(2, lambda: works.pop(0)())


def test_a_call_that_has_waited_pauses_as_long_as_the_one_before_took(recorder: Recorder) -> None:
    turns = Turns()

    def second() -> None:
        with turns.answering():
            pass

    one_after_another(turns, second)
    (pause,) = recorder.pauses
    assert 0 < pause < SECONDS


def test_one_caller_never_pauses(recorder: Recorder) -> None:
    turns = Turns()
    with turns.compiling():
        called(turns, recorder, 1)
    assert recorder.pauses == []


@pytest.mark.parametrize("cores", [1, 2, 3, 16])
def test_outside_of_python_one_core_is_left_to_the_background(
    cores: int, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_cores", lambda: cores)
    turns, places = Turns(), max(1, cores - 1)
    together = threading.Barrier(places)

    def work() -> None:
        with turns.answering(), recorder.call():
            together.wait(SECONDS)

    with turns.compiling(), turns.outside_python():
        in_threads(2 * places, work)
    assert recorder.most == places


def test_calls_go_on_together_when_nothing_is_compiled(recorder: Recorder) -> None:
    turns, together = Turns(), threading.Barrier(5)

    def work() -> None:
        with turns.answering():
            together.wait(SECONDS)

    with turns.outside_python(), turns.outside_python():  # does nothing in this thread
        in_threads(5, work)
    with turns.compiling(), turns.outside_python():
        pass
    in_threads(5, work)
    assert recorder.pauses == []


def test_those_that_wait_go_on_when_the_background_ends() -> None:
    turns, begun, both = Turns(), threading.Event(), threading.Barrier(2)

    def first() -> None:
        with turns.answering():
            begun.set()
            both.wait(SECONDS)

    def second() -> None:
        assert begun.wait(SECONDS)
        with turns.answering():
            both.wait(SECONDS)

    threads = [threading.Thread(target=work) for work in (first, second)]
    with turns.compiling():
        for thread in threads:
            thread.start()
        assert begun.wait(SECONDS)
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)


def test_a_call_within_a_call_waits_for_nobody() -> None:
    turns = Turns()
    with turns.compiling(), turns.answering(), turns.answering():
        pass
    assert turns._admitted == 0


def test_a_call_that_waits_too_long_is_answered_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "PATIENCE", 1e-3)
    turns, both = Turns(), threading.Barrier(2)

    def work() -> None:
        with turns.answering():
            both.wait(SECONDS)

    with turns.compiling():
        in_threads(2, work)
    assert (turns._admitted, len(turns._waiting)) == (0, 0)


def test_a_call_that_is_interrupted_while_it_waits_keeps_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(background.time, "sleep", interrupted)
    turns, seen = Turns(), []

    def second() -> None:
        try:
            with turns.answering():
                seen.append("answered")
        except KeyboardInterrupt:
            seen.append("interrupted")

    one_after_another(turns, second)
    assert (seen, turns._admitted, turns._answering) == (["interrupted"], 0, 0)
