"""Runs of a job whose parts, engine or progress fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tenferro.errors import FarmError
from tests.farm.engines import PARTS, Faulty, farm, value


def test_a_part_that_fails_is_named_after_the_others_are_done(tmp_path: Path) -> None:
    engine = Faulty(lambda part, attempt: "raise" if part == 2 else "run")
    text = (
        r"^farm: part 2 \(slices 12 to 17\) failed 3 times; the last: ArithmeticError: bad luck "
        rf"with 2; 7 of 8 parts are kept in {tmp_path}/[0-9a-f]{{8}}…; run again to go on$"
    )
    with pytest.raises(FarmError, match=text) as caught:
        value(farm(engine, tmp_path, parts=PARTS))
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert engine.attempts[2] == 3
    again = farm(Faulty(), tmp_path, parts=PARTS)
    value(again)
    assert again.report().jobs[0].found == 7


def test_where_all_parts_fail_only_the_first_are_tried(tmp_path: Path) -> None:
    engine = Faulty(lambda part, attempt: "raise", workers=1)
    with pytest.raises(FarmError, match="failed once; the last"):
        value(farm(engine, tmp_path, parts=32, attempts=1))
    assert sum(engine.attempts.values()) <= 3


def test_an_engine_that_broke_cannot_be_replaced_by_itself(tmp_path: Path, bits: bytes) -> None:
    engine = Faulty(lambda part, attempt: "break" if len(engine.attempts) == 5 else "run")
    text = r"the engine broke \(BrokenExecutor\); 4 of 8 parts are kept in .*…; run again to go on"
    with pytest.raises(FarmError, match=text):
        value(farm(engine, tmp_path, parts=PARTS))
    with pytest.raises(FarmError, match=text):  # it is still broken
        value(farm(engine, tmp_path, parts=PARTS))
    again = farm(Faulty(), tmp_path, parts=PARTS)
    assert value(again) == bits
    assert again.report().jobs[0].found == 4


def test_a_part_that_kills_its_workers_does_not_take_others_with_it(tmp_path: Path) -> None:
    made: list[Faulty] = []

    def make() -> Faulty:
        made.append(Faulty(lambda part, attempt: "break" if part == 0 else "run", seed=len(made)))
        return made[-1]

    with pytest.raises(FarmError, match="7 of 8 parts are kept"):
        value(farm(make, tmp_path, parts=PARTS, restarts=2))
    assert 3 <= len(made) <= 12


def test_an_engine_that_was_shut_down_has_broken(tmp_path: Path) -> None:
    engine = ThreadPoolExecutor(1)
    engine.shutdown()
    with pytest.raises(FarmError, match=r"the engine broke \(BrokenExecutor\); 0 of 8 parts"):
        value(farm(engine, tmp_path, parts=PARTS))


def test_what_the_function_of_an_engine_raises_is_the_cause_of_a_farm_error(
    tmp_path: Path,
) -> None:
    made: list[Faulty] = []

    def make() -> Faulty:
        if made:
            raise LookupError("no nodes are free")
        made.append(Faulty(lambda part, attempt: "break" if len(made[0].attempts) == 4 else "run"))
        return made[0]

    text = (
        r"^farm: the function that makes the engine raised LookupError: no nodes are free; 3 of 8 "
        rf"parts are kept in {tmp_path}/[0-9a-f]{{8}}…; run again to go on$"
    )
    with pytest.raises(FarmError, match=text) as caught:
        value(farm(make, tmp_path, parts=PARTS))
    assert isinstance(caught.value.__cause__, LookupError)


def test_what_the_submit_of_an_engine_raises_is_the_cause_of_a_farm_error(tmp_path: Path) -> None:
    class Strict(Faulty):
        def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
            if args[2] == 3:
                raise TypeError("it takes no third task")
            return super().submit(task, *args, **kwargs)

    text = (
        r"^farm: submit of the engine raised TypeError: it takes no third task; [0-3] of 8 parts "
        r"are kept in "
    )
    with pytest.raises(FarmError, match=text) as caught:
        value(farm(Strict(), tmp_path, parts=PARTS))
    assert isinstance(caught.value.__cause__, TypeError)


def test_what_the_function_of_progress_raises_is_raised_as_it_is(
    tmp_path: Path, bits: bytes
) -> None:
    class EnoughError(Exception):
        pass

    def stop(done: int, total: int, seconds: float) -> None:
        if done >= 3:
            raise EnoughError(f"{done} will do")

    with pytest.raises(EnoughError, match=r"^\d will do$") as caught:
        value(farm(Faulty(), tmp_path, parts=PARTS, progress=stop))
    assert caught.value.__cause__ is None
    assert caught.traceback[-1].name == "stop"
    again = farm(Faulty(), tmp_path, parts=PARTS)
    assert value(again) == bits
    assert again.report().jobs[0].found >= 3
