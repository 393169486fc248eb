"""`tenferro verify`: what it lists, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import tenferro as tn
from tenferro.cli import main
from tenferro.serialization import dumps
from tests.serialization.families import scaled
from tests.serialization.samples import samples
from tests.serialization.test_fragments import SAMPLES as FRAGMENTS


def test_a_program_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layer.tenferro"
    saved = samples()["layer"]
    tn.save(saved, path)
    assert main(["verify", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path}: sound, {path.stat().st_size} bytes\n"
        f"program, digest {saved.digest}\n"
        "3 inputs:\n"
        "  x: f64[n,3]\n"
        "  w: f64[3,4], by default f64[3,4]\n"
        "  b: f64[4], by default f64[4]\n"
        "3 outputs:\n"
        "  f64[]\n"
        "  f64[n,4]\n"
        "  f64[]\n"
        "0 guards\n"
        "5 instructions:\n"
        "  1 add\n"
        "  1 broadcast_in_dim\n"
        "  1 dot_general\n"
        "  1 reduce_sum\n"
        "  1 tanh\n"
        "0 families\n"
    )


def test_families_and_guards_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a"
    tn.save(scaled(), path)
    assert main(["verify", str(path)]) == 0
    out = capsys.readouterr().out
    assert f"program, digest {scaled().digest}\n" in out
    assert "2 instructions:\n  1 negate\n  1 tenferro-tests.scale.v2\n" in out
    assert "1 family:\n  tenferro-tests.scale.v2, not checked\n" in out
    tn.save(samples()["sizes"], path)
    assert main(["verify", str(path)]) == 0
    assert "2 guards:\n  n == 2*m + 1\n  m == 3\n" in capsys.readouterr().out


def test_a_fragment_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a"
    tn.save(FRAGMENTS["linear"], path)
    assert main(["verify", str(path)]) == 0
    out = capsys.readouterr().out
    assert "linear fragment\n1 input:\n" in out
    assert "3 instructions:\n  2 multiply\n  1 reduce_sum\n" in out


def test_what_is_not_sound_gets_one_line_and_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    data = dumps(samples()["layer"])
    for content, text in [
        (b"", "file: this is not a tenferro file: it does not begin with its magic bytes"),
        (data[:-1], f"file: it should have {len(data)} bytes, but has {len(data) - 1}"),
        (data[:100] + b"?" + data[101:], "file: the checksum is wrong; the file is damaged"),
    ]:
        path.write_bytes(content)
        assert main(["verify", str(path)]) == 1
        caught = capsys.readouterr()
        assert (caught.out, caught.err) == ("", f"tenferro verify: {text}\n")


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert "none cannot be read: No such file or directory\n" in capsys.readouterr().err
