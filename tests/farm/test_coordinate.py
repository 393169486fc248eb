"""Runs of a job with engines that fail, and with files that are damaged or foreign."""

from __future__ import annotations

import errno
import io
import json
import re
import shutil
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenferro.errors import FarmError
from tenferro.farm import coordinator, worker
from tenferro.farm.store import JobFolder
from tests.farm.engines import PARTS, Faulty, farm, job_folder, value


def once(*fates: str) -> Any:
    """Parts 0, 1, … meet these fates at their first attempt."""
    return lambda part, attempt: fates[part] if part < len(fates) and attempt == 1 else "run"


@settings(max_examples=15)
@given(
    seed=st.integers(0, 99),
    fates=st.lists(
        st.sampled_from(["run", "raise", "break", "twice", "lost", "lie", "late"]), max_size=PARTS
    ),
)
def test_any_order_and_any_fate_give_the_same_bits(
    seed: int, fates: list[str], bits: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    attempts: Counter[int] = Counter()  # of all engines: a part meets its fate once

    def fate(part: int, attempt: int) -> str:
        attempts[part] += 1
        return once(*fates)(part, attempts[part])

    store = tmp_path_factory.mktemp("farm")
    with farm(lambda: Faulty(fate, seed=seed), store, parts=PARTS, restarts=9) as executor:
        assert value(executor) == bits
    report = executor.report().jobs[0]
    assert report.failed == sum(each in ("raise", "lie") for each in fates)
    assert bool(report.engines) is ("break" in fates)
    shutil.rmtree(store)


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "flipped": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"\x00 not a part " * 20),
    "missing": lambda path: path.unlink(),
    "directory": lambda path: (path.unlink(), path.mkdir(), (path / "file").touch()),
    "of another part": lambda path: shutil.copy(path.with_name("part-000003"), path),
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nowhere")),
}


def flipped(data: bytes) -> bytes:
    middle = 2 * len(data) // 3
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


@settings(max_examples=15)
@given(damage=st.dictionaries(st.sampled_from([0, 1, 2, 5, 7]), st.sampled_from(sorted(DAMAGE))))
def test_damaged_parts_are_found_renamed_and_made_again(
    damage: dict[int, str], bits: bytes, sound: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = tmp_path_factory.mktemp("farm") / "store"
    shutil.copytree(sound, store)
    folder = job_folder(store)
    (folder / "result").unlink()
    for part, kind in damage.items():
        DAMAGE[kind](folder / f"part-{part:06d}")
    executor = farm(Faulty(), store, parts=PARTS)
    assert value(executor) == bits
    (report,) = executor.report().jobs
    damaged = sum(kind != "missing" for kind in damage.values())
    assert (report.found, report.damaged) == (PARTS - len(damage), damaged)
    assert len(list(folder.glob("*.bad"))) == damaged
    shutil.rmtree(store)


@pytest.mark.parametrize("name", ["result", "operands", "program", "job.json"])
def test_other_files_that_are_damaged_are_written_again(
    name: str, sound: Path, bits: bytes, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(sound, store)
    folder = job_folder(store)
    (folder / name).write_bytes((folder / name).read_bytes()[:-10])
    assert value(farm(Faulty(), store, parts=PARTS)) == bits
    assert (folder / f"{name}.bad").exists() is (name == "result")
    assert (folder / name).read_bytes() == (job_folder(sound) / name).read_bytes()


def test_at_most_two_parts_for_each_worker_are_submitted(tmp_path: Path) -> None:
    engine = Faulty(workers=3)
    value(farm(engine, tmp_path, parts=40))
    assert engine.most_waiting <= 6


def test_a_disk_without_room_is_refused_before_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=12_345)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    engine = Faulty()
    text = rf"^farm: {tmp_path} has 12.3 kB free, 8 parts need 37.0 kB; free some, choose another"
    with pytest.raises(FarmError, match=text):
        value(farm(engine, tmp_path, parts=PARTS))
    assert not engine.attempts


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = rf"^farm: {tmp_path}/file/[0-9a-f]{{8}}… cannot be written: "
    with pytest.raises(FarmError, match=text):
        value(farm(Faulty(), tmp_path / "file"))


def test_a_disk_that_fills_up_fails_a_part_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Path.open

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(path: Path, mode: str = "r", **options: Any) -> Any:
        is_part_5 = path.name.startswith(".part-000005")
        return Full(path, "xb") if is_part_5 else really(path, mode, **options)

    monkeypatch.setattr(Path, "open", opened)
    text = r"part 5 .* the last: FarmError: farm: .* cannot be written: No space left on device; 7 "
    with pytest.raises(FarmError, match=text):
        value(farm(Faulty(), tmp_path, parts=PARTS))
    assert not list(job_folder(tmp_path).glob(".*"))


def test_versions_of_worker_and_job_must_be_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "own_version", lambda: "0.2")
    monkeypatch.setattr(worker, "own_version", lambda: "0.3")
    text = r"failed once; the last: FarmError: farm: worker has tenferro 0.3, the job is of 0.2;"
    with pytest.raises(FarmError, match=text):
        value(farm(Faulty(), tmp_path, parts=PARTS, attempts=1))
    monkeypatch.setattr(coordinator, "own_version", lambda: "0.3")
    text = r"farm: .*… was begun with tenferro 0.2, this is 0.3; go on with that version, or remov"
    with pytest.raises(FarmError, match=text):
        value(farm(Faulty(), tmp_path, parts=PARTS))


def test_a_worker_says_what_is_wrong_with_a_folder(sound: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(sound, store)
    folder = job_folder(store)
    files = JobFolder(store, folder.name)
    (version,) = {json.loads((folder / "job.json").read_text())["tenferro"]}
    described = json.loads((folder / "job.json").read_text())
    (folder / "job.json").write_text(json.dumps({**described, "total": 3, "parts": 2}))
    with pytest.raises(FarmError, match=r"the job in .* is not what its name says; remove it"):
        files.read_job(version)
    del described["parts"]
    (folder / "job.json").write_text(json.dumps(described))
    with pytest.raises(FarmError, match="is not the folder of a job: "):
        files.read_job(version)
    (folder / "job.json").unlink()
    with pytest.raises(FarmError, match=r"no readable job.json; all workers must see the same"):
        files.read_job(version)


def test_parts_go_when_the_result_is_there_unless_they_are_kept(tmp_path: Path) -> None:
    executor = farm(Faulty(), tmp_path, parts=PARTS, keep=False)
    expected = value(executor)
    folder = job_folder(tmp_path)
    assert {path.name for path in folder.iterdir()} == {"job.json", "operands", "program", "result"}
    (folder / ".part-000003.0123").touch()  # of a writer that was killed
    (folder / "result").unlink()
    assert value(executor) == expected
    assert {path.name for path in folder.iterdir()} == {"job.json", "operands", "program", "result"}


def test_makers_are_named_and_may_have_to_be_alike(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: bytes
) -> None:
    store = tmp_path / "store"
    shutil.copytree(sound, store)
    for name in ("result", "part-000001", "part-000004"):
        (job_folder(store) / name).unlink()
    with monkeypatch.context() as patch:
        patch.setattr(worker, "maker_of", lambda executor: "abacus 1.0")
        worker.WORKER.clear()
        mixed = farm(Faulty(), store, parts=PARTS)
        assert value(mixed) == bits
    assert "\n  6 parts by numpy" in str(mixed.report())
    assert "\n  2 parts by abacus 1.0" in str(mixed.report())
    again = farm(Faulty(), store, parts=PARTS)
    value(again)
    assert "  some parts by abacus 1.0" in str(again.report())
    worker.WORKER.clear()
    alike = farm(Faulty(), store, parts=PARTS, same_maker=True)
    assert value(alike) == bits
    (report,) = alike.report().jobs
    assert (report.foreign, len(report.makers)) == (2, 1)
    assert "2 of another maker and made again" in str(report)


def test_makers_that_stay_unlike_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers = iter("abcdefghijklmnopqrstuvwxyz" * 4)
    run = worker.Prepared.run

    def unlike(self: Any, first: int, stop: int) -> Any:
        sums = run(self, first, stop)
        return type(sums)(sums.arrays, (next(makers),), sums.microseconds)

    monkeypatch.setattr(worker.Prepared, "run", unlike)
    with pytest.raises(FarmError, match=r"the last: FarmError: it was made by ., not by ."):
        value(farm(Faulty(), tmp_path, parts=PARTS, same_maker=True))


def test_an_interruption_cancels_what_has_not_begun(tmp_path: Path, bits: bytes) -> None:
    engine = Faulty(lambda part, attempt: "run" if part < 3 else "lost", workers=8)

    def progress(done: int, total: int, seconds: float) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        value(farm(engine, tmp_path, parts=PARTS, progress=progress))
    again = farm(Faulty(), tmp_path, parts=PARTS)
    assert value(again) == bits
    assert again.report().jobs[0].found >= 3


def test_a_relative_store_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    executor = farm(Faulty(lambda part, attempt: "raise"), "runs", parts=PARTS, attempts=1)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(FarmError, match=r"0 of 8 parts are kept in runs/[0-9a-f]{8}…; run again"):
        value(executor)
    assert job_folder(tmp_path / "runs").is_dir()


def test_two_coordinators_may_run_one_job(tmp_path: Path, bits: bytes) -> None:
    found: list[bytes] = []

    def one() -> None:
        with farm(lambda: ThreadPoolExecutor(2), tmp_path, parts=PARTS) as executor:
            found.append(value(executor))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [bits] * 4


def test_files_are_whole_where_there_are_no_links(
    tmp_path: Path, bits: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    assert value(farm(Faulty(once("twice", "twice")), tmp_path, parts=PARTS)) == bits


def test_ten_thousand_parts_are_found_in_a_millisecond_each(tmp_path: Path) -> None:
    executor = farm(Faulty(), tmp_path, parts=40)
    value(executor)
    (job_folder(tmp_path) / "result").unlink()
    begun = time.process_time()
    again = farm(Faulty(), tmp_path, parts=40)
    value(again)
    assert again.report().jobs[0].found == 40
    assert time.process_time() - begun < 2.0
    assert re.match(r"job [0-9a-f]{8}…: 40 parts, 40 found, 0 s of work", str(again.report()))
