"""The driver of passes: it verifies, dumps, names the pass that fails, and skips."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import pytest

import tenferro.compiler.passes as passing
import tenferro.compiler.pipeline as pipeline
from tenferro.compiler import DeadCode, Pass, PassReport, optimize, run_passes
from tenferro.config import Config
from tenferro.errors import ShapeError, VerifyError
from tenferro.ir import ExecProgram, parse_exec
from tenferro.ops.extension import vocabulary_of
from tests.programs import read

UNREAD = """exec_program(%0: f64[n]) {
  %1: f64[n] = sine %0
  %2: f64[n] = cosine %1
  return %1
}"""


@dataclass(frozen=True)
class Broken(Pass):
    """A pass that leaves what it should not; switched by the option of another."""

    result: str

    name = "dead_code"

    def run(self, program: ExecProgram) -> ExecProgram:
        return parse_exec(self.result, vocabulary_of(()))


SINE = "exec_program(%0: f64[n]) {\n %1: f64[n] = sine %0\n return %1\n}"


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (passing, pipeline):
        monkeypatch.setattr(module, "config", replace(Config(), verify=True))


@pytest.mark.usefixtures("verified")
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (SINE.replace("%1: f64[n]", "%1: f64[3]"), r"sine records f64\[3\], but the op infers"),
        (SINE.replace("sine %0", "sine %1"), "sine reads %1 before it is written"),
        (SINE.replace("f64", "f32"), r"input types are f32\[n\], but were f64\[n\]"),
        (
            SINE.replace("%1: f64[n] = sine", "%1: c128[n] = convert[dtype=c128]"),
            r"output types are c128\[n\], but were f64\[n\]",
        ),
    ],
)
def test_a_pass_that_breaks_the_program_is_named(result: str, message: str) -> None:
    with pytest.raises(VerifyError, match=f"after pass 'dead_code': {message}"):
        optimize(read(SINE), passes=[Broken(result)])


@pytest.mark.usefixtures("verified")
def test_a_program_that_is_broken_before_any_pass_blames_none() -> None:
    with pytest.raises(VerifyError, match=r"^sine reads %1 before") as caught:
        optimize(read(SINE.replace("sine %0", "sine %1")))
    assert "%1: f64[n] = sine %1\n                    ^^ sine reads" in str(caught.value)


def test_an_error_raised_in_a_pass_names_it() -> None:
    @dataclass(frozen=True)
    class Raising(Pass):
        name = "dead_code"

        def run(self, program: ExecProgram) -> ExecProgram:
            raise ShapeError("reshape: no")

    with pytest.raises(ShapeError, match="reshape: no") as caught:
        optimize(read(SINE), passes=[Raising()])
    assert caught.value.__notes__ == ["raised in pass 'dead_code'"]


def test_a_dump_shows_what_each_pass_did(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tenferro.dump")
    program = optimize(read(UNREAD), passes=[DeadCode()])
    assert {record.name for record in caplog.records} == {
        "tenferro.dump.passes",
        "tenferro.dump.exec",
    }
    lines = caplog.messages[0].splitlines()
    assert lines[0].startswith("# pass dead_code: ")
    assert lines[0].endswith(" ms, 2 instructions -> 1")
    assert "-  %2: f64[n] = cosine %1" in lines
    assert caplog.messages[-1] == str(program)


def test_a_dump_says_that_a_pass_did_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tenferro.dump.passes")
    optimize(read(SINE), passes=[DeadCode()])
    first, second = caplog.messages
    assert first.endswith(" ms, 1 instruction, unchanged")
    assert second.startswith("# pass renumber_slots:")


def test_a_pass_that_comes_again_is_skipped_until_something_changes() -> None:
    reports: list[PassReport] = []
    run_passes(read(UNREAD), [DeadCode(), DeadCode(), DeadCode()], reports.append)
    assert [report.changed for report in reports] == [True]


def test_a_pass_runs_on_the_programs_inside_ops_first() -> None:
    programs: list[str] = []

    @dataclass(frozen=True)
    class Listing(Pass):
        name = "listing"

        def run(self, program: ExecProgram) -> ExecProgram:
            programs.append(program.instructions[0].op.name)
            return program

    loop = read(
        """exec_program(%0: f64[5], %1: f64[]) {
          %2: f64[] = scan[consts=0, carry=1, length=5] %1, %0 {
            body(%0: f64[], %1: f64[]) {
              %2: f64[] = multiply %0, %1
              return %2
            }
          }
          return %2
        }"""
    )
    run_passes(loop, [Listing()])
    assert programs == ["multiply", "scan"]
