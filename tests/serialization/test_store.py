"""Saving to files and loading from them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tenferro as tn
from tenferro.errors import FileError
from tests.serialization.samples import SIZES, described, program, samples


def test_a_file_holds_the_bytes_of_the_program(tmp_path: Path) -> None:
    saved = samples()["layer"]
    tn.save(saved, tmp_path / "layer.tenferro")
    assert (tmp_path / "layer.tenferro").read_bytes() == tn.dumps(saved)
    assert described(tn.load(tmp_path / "layer.tenferro")) == described(saved)
    assert described(tn.load(str(tmp_path / "layer.tenferro"))) == described(saved)


def test_saving_again_replaces_the_file_and_leaves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a"
    tn.save(samples()["nothing"], path)
    tn.save(samples()["layer"], path)
    assert tn.load(path).digest == samples()["layer"].digest
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_program_that_cannot_be_saved_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    tn.save(samples()["nothing"], path)
    before = path.read_bytes()
    names = "\ud800 y z w v"
    with pytest.raises(FileError, match="is not Unicode text"):
        tn.save(program(SIZES, names), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_the_mode_of_a_new_file_is_that_of_other_new_files(tmp_path: Path) -> None:
    tn.save(samples()["nothing"], tmp_path / "a")
    (tmp_path / "b").write_bytes(b"")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_paths_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"file: .*/none/a cannot be written: No such file"):
        tn.save(samples()["nothing"], tmp_path / "none" / "a")
    (tmp_path / "directory").mkdir()
    with pytest.raises(FileError, match=r"file: .*/directory cannot be written"):
        tn.save(samples()["nothing"], tmp_path / "directory")
    assert [each.name for each in tmp_path.iterdir()] == ["directory"]


def test_paths_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"file: .*/none cannot be read: No such file"):
        tn.load(tmp_path / "none")
    with pytest.raises(FileError, match=r"file: .* cannot be read: Is a directory"):
        tn.load(tmp_path)
    if Path("/dev/zero").exists():
        with pytest.raises(FileError, match="file: /dev/zero is not a regular file"):
            tn.load("/dev/zero")


def test_a_long_file_of_something_else_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 2**40)  # without a byte on the disk
    with pytest.raises(FileError, match="does not begin with its magic bytes"):
        tn.load(path)
    data = tn.dumps(samples()["nothing"])
    with path.open("r+b") as file:
        file.write(data)
    with pytest.raises(FileError, match=rf"it should have {len(data)} bytes, but has {2**40}"):
        tn.load(path)


CODE = """
import sys, tenferro as tn
program = tn.load(sys.argv[1])
print(program.digest)
print(tn.dumps(program).hex())
assert "jax" not in sys.modules
"""


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_reads_the_same(tmp_path: Path, seed: str) -> None:
    saved = samples()["sizes"]
    tn.save(saved, tmp_path / "a")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "a")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert done.stdout.split() == [saved.digest, tn.dumps(saved).hex()], done.stderr
