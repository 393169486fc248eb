"""Optimized programs on disk, and who may write to a folder of executables."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import optimize
from tenferro.config import config
from tenferro.errors import CacheWarning, ConfigError
from tenferro.ir import ExecProgram
from tenferro.serialization import CacheFolder, Families, cache_folder, cached_program, disk_cache


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    tn.cache(tmp_path / "kept", executables=False)
    yield tmp_path / "kept"
    tn.cache(None)


PROGRAM = tn.make_program(lambda x: tn.sum(tn.exp(x) * 2), np.ones(3)).exec_program


class Passes:
    """Counts how often the passes run."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> ExecProgram:
        self.runs += 1
        return optimize(PROGRAM)


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_program_is_optimized_once_for_each_key(folder: Path) -> None:
    passes = Passes()
    first = cached_program(("key",), PROGRAM, passes, Families())
    again = cached_program(("key",), PROGRAM, passes, Families())
    assert (passes.runs, again) == (1, first)
    cached_program(("another",), PROGRAM, passes, Families())
    assert (passes.runs, len(entries(folder))) == (2, 2)


def test_without_a_folder_nothing_is_kept() -> None:
    passes = Passes()
    for _ in range(2):
        cached_program(("key",), PROGRAM, passes, Families())
    assert (passes.runs, disk_cache()) == (2, None)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def exchange(path: Path) -> None:
    path.write_bytes(tn.dumps(tn.make_program(lambda x: x, np.ones(2))))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def test_a_folder_in_the_place_of_an_entry_is_a_warning(folder: Path) -> None:
    first = cached_program((), PROGRAM, Passes(), Families())
    (entry,) = entries(folder)
    entry.unlink()
    entry.mkdir()
    with pytest.warns(CacheWarning) as told:
        assert cached_program((), PROGRAM, Passes(), Families()) == first
    assert str(told[0].message).endswith("is not used: it is not a regular file")


@pytest.mark.parametrize("damage", [cut, flip, exchange, empty])
def test_a_damaged_entry_is_a_warning_and_made_again(folder: Path, damage: object) -> None:
    passes = Passes()
    first = cached_program((), PROGRAM, passes, Families())
    damage(*entries(folder))  # type: ignore[operator]
    with pytest.warns(CacheWarning, match="is not used"):
        assert cached_program((), PROGRAM, passes, Families()) == first
    assert cached_program((), PROGRAM, passes, Families()) == first
    assert passes.runs == 2


def test_a_warning_stays_one_where_warnings_are_errors(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached_program((), PROGRAM, Passes(), Families())
    cut(*entries(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cached_program((), PROGRAM, Passes(), Families())
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tenferro.cache", "WARNING")
    assert "is not used" in record.getMessage()


def test_a_program_with_a_callback_is_not_kept(folder: Path) -> None:
    def f(x: tn.Tensor) -> object:
        return tn.pure_callback(np.sin, tn.ShapeDtypeStruct((), "float64"), x)

    program = tn.make_program(f, 1.0).exec_program
    assert not program.portable
    cached_program((), program, lambda: program, Families())
    assert entries(folder) == []


def test_the_entries_that_were_not_used_for_long_are_deleted(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path / "kept", max_bytes=25, trusted=False)
    for number, key in enumerate("abc"):
        if key != "c":
            folder.put(key, b"0123456789")
            os.utime(folder.path / key, ns=(number, number))
    assert folder.get("a") is not None  # and is used now
    folder.put("c", b"0123456789")
    assert [folder.get(key) is None for key in "abc"] == [False, True, False]


def test_what_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.warns(CacheWarning, match="cannot be written"):
        CacheFolder(tmp_path / "kept", max_bytes=25, trusted=False).put("a", b"")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_holds_no_executables(tmp_path: Path, mode: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(mode)
    with pytest.raises(ConfigError, match=r"^cache: .*others may write there, its mode is 7"):
        tn.cache(tmp_path / "kept")
    (tmp_path / "kept" / "below").mkdir(mode=0o700)
    with pytest.raises(ConfigError, match=r"which holds it, may be written by others"):
        tn.cache(tmp_path / "kept" / "below")


def test_a_folder_of_another_user_holds_no_executables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(ConfigError, match=rf"its owner is user {me}, not this one, {me + 1}"):
        tn.cache(tmp_path)
    (tmp_path / "entry").write_bytes(b"stolen")
    with pytest.warns(CacheWarning, match="its owner is user"):
        assert CacheFolder(tmp_path, 99, trusted=True).get("entry") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"stolen")
    (tmp_path / "entry").symlink_to(tmp_path / "elsewhere")
    with pytest.warns(CacheWarning, match="is not used"):
        assert CacheFolder(tmp_path, 99, trusted=True).get("entry") is None


def test_a_folder_is_made_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        tn.cache(tmp_path / "a" / "b")
        tn.cache(None)
        CacheFolder(tmp_path / "a" / "b" / "kind" / "version", 99, trusted=True).put("x", b"")
    finally:
        os.umask(before)
    for path in (tmp_path / "a").rglob("*"):
        assert path.is_file() or path.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to other users")
def test_a_folder_within_that_of_another_user_holds_no_executables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me, other = 1234, 1235
    for owner, path in ((other, tmp_path / "theirs"), (me, tmp_path / "theirs" / "kept")):
        path.mkdir(mode=0o700)
        os.chown(path, owner, owner)
    monkeypatch.setattr(os, "geteuid", lambda: me)
    with pytest.raises(ConfigError, match=r"theirs, which holds it, may be written by others"):
        tn.cache(tmp_path / "theirs" / "kept")


@pytest.mark.parametrize("path", ["here", "", 3])
def test_a_path_must_be_absolute(path: object) -> None:
    with pytest.raises(ConfigError, match=r"^cache: (''|'here') is not absolute|takes a path"):
        tn.cache(path)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_bytes must be"):
        tn.cache("/", max_bytes=-1)


@pytest.mark.parametrize("part", ["unpack_program", "pack_program", "source_digest"])
def test_whatever_fails_in_the_cache_is_a_warning(
    folder: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached_program((), PROGRAM, Passes(), Families())
    if part == "pack_program":
        entries(folder)[0].unlink()

    def fails(*_: object) -> None:
        raise AssertionError("of the test")

    monkeypatch.setattr(cache_folder, part, fails)
    with pytest.warns(CacheWarning, match="of the test"):
        assert cached_program((), PROGRAM, Passes(), Families()) == first


def test_a_disk_that_cannot_be_read_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CacheFolder(tmp_path, max_bytes=25, trusted=False)
    folder.put("a", b"1")

    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(cache_folder.os, "fdopen", fails)
    with pytest.warns(CacheWarning, match="Input/output error"):
        found = folder.get("a")
    monkeypatch.undo()
    assert found is None


def test_a_folder_of_the_environment_that_cannot_be_made_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "kept")
    monkeypatch.setattr(cache_folder._Chosen, "asked", False)
    monkeypatch.setattr(cache_folder, "config", replace(config, cache_dir=path))
    with pytest.warns(CacheWarning, match="CACHE_DIR: .*/kept cannot be used: File exists"):
        assert disk_cache() is None
    assert disk_cache() is None
    with pytest.raises(ConfigError, match="cannot be used: File exists"):
        tn.cache(path)
