"""`--package`: the commands know the families of the packages that are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tenferro as tn
from tenferro.cli import main
from tenferro.serialization import dumps
from tests.ops.extension.cube import CUBE, cube
from tests.serialization.test_fragments import SAMPLES as FRAGMENTS

SOURCE = """\
import tenferro as tn
from tests.ops.extension.cube import CUBE, cube

def f(x):
    return tn.sum(cube(x))

PACKAGES = (CUBE,)
three = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a function and a saved program that use a family, to work in."""
    (tmp_path / "cubes.py").write_text(SOURCE)
    (tmp_path / "unread_package.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    program = tn.make_program(lambda x: tn.sum(cube(x)), tn.TensorSpec(("n",), "float64"))
    tn.save(program, "cubes.tenferro")
    np.save("x.npy", np.array([1.0, 2.0]))
    return tmp_path


@pytest.mark.parametrize("package", ["tests.ops.extension.cube:CUBE", "cubes.py:PACKAGES"])
@pytest.mark.parametrize("subject", ["cubes.py:f --shape n", "cubes.tenferro"])
def test_inspect_differentiates_and_lowers_a_family(
    package: str, subject: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"inspect {subject} --grad --size n=3 --package {package}".split()) == 0
    out = capsys.readouterr().out
    assert "# transposed fragment" in out
    assert "tenferro-tests.cube.v1" in out
    assert "tensor<3xf64>" in out
    assert "not made" not in out


def test_lower_and_run_take_packages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = "--package tests.ops.extension.cube:CUBE"
    assert main(f"lower cubes.tenferro --size n=2 {given}".split()) == 0
    assert "tensor<2xf64>" in capsys.readouterr().out
    for executor in ("xla", "numpy"):
        assert main(f"run cubes.tenferro x.npy --executor {executor} {given}".split()) == 0
        assert capsys.readouterr().out == "result: f64[]\n9.0\n"


def test_verify_checks_the_families_that_it_is_given(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "cubes.tenferro"]) == 0
    assert "1 family:\n  tenferro-tests.cube.v1, not checked\n" in capsys.readouterr().out
    assert main(["verify", "cubes.tenferro", "--package", "tests.ops.extension.cube:CUBE"]) == 0
    assert "0 families\n" in capsys.readouterr().out


def test_a_saved_program_has_its_own_types_unless_others_are_given(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tn.save(tn.make_program(lambda x: x * 2, tn.TensorSpec(("n", 3), "float32")), "twice.tenferro")
    assert main(["inspect", "twice.tenferro"]) == 0
    assert "exec_program(%0: f32[n,3])" in capsys.readouterr().out
    assert main(["lower", "twice.tenferro", "--shape", "2,3", "--dtype", "f32"]) == 0
    assert "tensor<2x3xf32>" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "inspect cubes.tenferro",
            "extension: tenferro-tests.cube.v1: not registered; pass the package of the family to "
            "load or loads, packages=(...); on the command line, give the package of the family: "
            "--package MODULE:NAME",
        ),
        (
            "inspect cubes.py:f --shape 3 --grad",
            "tenferro-tests.cube.v1: no linearize rule is registered; make a context with the "
            "package of the family, AdContext(packages=(...)), and pass it as ad_context=; "
            "on the command line, give the package of the family: --package MODULE:NAME",
        ),
        (
            "run cubes.py:f x.npy --executor numpy",
            "extension: tenferro-tests.cube.v1: no runtime is registered; give the executor",
        ),
        (
            "lower cubes.py:f --shape 3",
            "extension: tenferro-tests.cube.v1: no lowering is registered, and the op has no "
            "standard-op form for f64[3]; give the executor, or jit, a package that has one, "
            "packages=(...), or register one with executor.register_extension(...)",
        ),
        ("verify x --package cubes", "'cubes' is not of the form MODULE:NAME or FILE.py:NAME"),
        ("verify x --package a/b:P", "'a/b:P' is not of the form MODULE:NAME or FILE.py:NAME"),
        ("verify x --package no.py:P", "there is no file no.py"),
        ("verify x --package nomodule:P", "nomodule cannot be imported: ModuleNotFoundError"),
        ("verify x --package unread_package.py:P", "unread_package.py cannot be imported: Zero"),
        ("verify x --package cubes.py:nope", "cubes.py defines no nope"),
        ("verify x --package cubes.py:three", "cubes.py:three is of type int, not a package"),
        (
            "verify cubes.tenferro --package cubes.py:CUBE --package cubes.py:PACKAGES",
            "extension: packages: family 'tenferro-tests.cube.v1': the package "
            "'tenferro-tests-cube' is given twice; pass each package once",
        ),
        ("inspect fragment.tenferro", "fragment.tenferro holds a fragment, not a program"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_do(
    command: str, text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("fragment.tenferro").write_bytes(dumps(FRAGMENTS["primal"]))
    assert main(command.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tenferro {command.split()[0]}: {text}"), err
    assert err.count("\n") == 1


def test_a_stage_that_lacks_a_family_says_which_option_gives_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "cubes.py:f", "--shape", "3"]) == 0
    out = capsys.readouterr().out
    assert "not made: extension: tenferro-tests.cube.v1: no lowering is registered" in out
    assert "--package MODULE:NAME" in out


def test_the_package_of_these_tests_is_one() -> None:
    assert CUBE.families == ("tenferro-tests.cube.v1", "tenferro-tests.table.v1")
