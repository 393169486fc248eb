import subprocess
import sys
from dataclasses import dataclass, fields, replace

import pytest

import tenferro as tn
import tenferro.compiler.passing as passing
import tenferro.compiler.pipeline as pipeline
from tenferro.compiler import (
    CANONICAL,
    CPU,
    PASSES,
    DeadCode,
    Numbering,
    OptimizerOptions,
    Pass,
    compile_program,
    compile_std_to_exec,
    optimize,
)
from tenferro.computegraph import (
    CompiledProgram,
    Instruction,
    compile_graph,
    materialize_merge,
    resolve_keys,
)
from tenferro.config import Config
from tenferro.errors import ShapeError, VerifyError
from tenferro.exec_ir import ExecProgram, verify
from tenferro.ops import COS, MUL, NEG, SIN, DotGeneral, Reshape, StdTensorOp, Transpose
from tenferro.shape import TensorMeta
from tenferro_xla.target import passes_for
from tests import work
from tests.programs import SIZES, assert_same_results, read, short

XLA_CPU = (*CANONICAL, *passes_for("cpu", CPU))
NAMES = [each.name for each in fields(OptimizerOptions) if each.name != "layout_costs"]
# One piece for each pass to work on.
# Two contractions of constant sizes: the first is wanted the other way round by the second.
CONJUGATES = """
exec_program(%0: c128[4,5], %1: c128[5,6]) {
  %2: c128[4,5] = conj %0
  %3: c128[5,6] = conj %1
  %4: c128[4,6] = dot_general[(1,), (0,)] %2, %3
  return %4
}"""
CONTRACTIONS = """
exec_program(%0: f64[2,3], %1: f64[3,64], %2: f64[5,2]) {
  %3: f64[2,64] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0!, %1!
  %4: f64[64,5] = dot_general[lhs_contract=(0,), rhs_contract=(1,)] %3!, %2!
  return %4
}"""
COMPLEX = """
exec_program(%0: c128[90,80], %1: c128[80,70]) {
  %2: c128[90,70] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %1
  return %2
}"""
TURNED = """
exec_program(%0: f64[640,640], %1: f64[4,9], %2: f64[4,3]) {
  %3: f64[640,640] = dot_general[lhs_contract=(0,), rhs_contract=(0,)] %0, %0
  %4: f64[640,640] = dot_general[lhs_contract=(0,), rhs_contract=(0,)] %3, %0
  %5: f64[9,4] = transpose[perm=(1, 0)] %1
  %6: f64[9,3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %5, %2
  return %4, %6
}"""
OTHERS = {
    "contraction_layout": CONTRACTIONS,
    "conjugate_sinking": CONJUGATES,
    "real_contractions": COMPLEX,
    "kept_transposes": TURNED,
}
TEXT = """
exec_program(%0: f64[2,3,n], %1: f64[n,3,4]) {
  %2: f64[3,n,2] = transpose[perm=(1, 2, 0)] %0
  %3: f64[2,4] = dot_general[(1, 0), (0, 1)] %2, %1
  %4: f64[2,4] = negate %3
  %5: f64[2,4] = negate %4
  %6: f64[2,4] = sine %5
  %7: f64[2,4] = sine %5
  %8: f64[2,4] = multiply %6, %7
  %9: f64[2,4] = cosine %8
  return %8
}"""


def test_the_whole_pipeline_as_text() -> None:
    assert (
        short(optimize(read(TEXT), passes=PASSES))
        == """
exec_program(%0: f64[2,3,n], %1: f64[n,3,4]) {
  %2: f64[2,3*n] = reshape[shape=(2, 3*n)] %0!
  %3: f64[3,n,4] = transpose[perm=(1, 0, 2)] %1!
  %4: f64[3*n,4] = reshape[shape=(3*n, 4)] %3!
  %5: f64[2,4] = dot_general[(1,), (0,)] %2!, %4!
  %6: f64[2,4] = sine %5!
  %7: f64[2,4] = multiply %6, %6!
  return %7
}""".strip()
    )


def test_every_pass_has_an_option_and_every_option_a_pass() -> None:
    assert {each.name for each in XLA_CPU} == set(NAMES)


def test_without_passes_only_last_uses_are_marked() -> None:
    program = optimize(read(TEXT), OptimizerOptions.none())
    assert str(program).replace("!", "") == str(read(TEXT))
    assert "multiply %6!, %7!" in str(program)


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_is_switched_on_and_off_alone(name: str) -> None:
    text = OTHERS.get(name, TEXT)
    off = optimize(read(text), replace(OptimizerOptions(), **{name: False}), XLA_CPU)
    on = optimize(read(text), replace(OptimizerOptions.none(), **{name: True}), XLA_CPU)
    for program in (off, on):
        verify(program)
        assert_same_results(read(text), program, SIZES)
    assert str(off) != str(optimize(read(text), passes=XLA_CPU))
    assert str(on) != str(optimize(read(text), OptimizerOptions.none()))


def test_options_are_a_key() -> None:
    assert hash(OptimizerOptions()) == hash(OptimizerOptions())
    assert OptimizerOptions() != OptimizerOptions.none()
    assert len({OptimizerOptions(), OptimizerOptions.none(), OptimizerOptions()}) == 2


def test_optimizing_twice_changes_nothing() -> None:
    once = optimize(read(TEXT))
    assert str(optimize(once)) == str(once)


@dataclass(frozen=True)
class Broken(Pass):
    """A pass that leaves what it should not; switched by the option of another."""

    result: str

    name = "dead_code"

    def run(self, program: ExecProgram) -> ExecProgram:
        return read(self.result)


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


def test_a_dump_shows_what_each_pass_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (passing, pipeline):
        monkeypatch.setattr(module, "config", Config(dump=("passes", "exec")))
    program = optimize(read(TEXT), passes=[DeadCode()])
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("# pass dead_code: ")
    assert lines[0].endswith(" ms, 8 instructions -> 7")
    assert "-  %9: f64[2,4] = cosine %8" in lines
    assert captured.err.endswith(f"{program}\n")


def test_a_dump_says_that_a_pass_did_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(passing, "config", Config(dump=("passes",)))
    optimize(read(SINE), passes=[DeadCode()])
    assert " ms, 1 instructions, unchanged\n# pass numbering:" in capsys.readouterr().err


def test_a_compiled_program_is_lowered_and_optimized() -> None:
    program: CompiledProgram[StdTensorOp] = CompiledProgram(
        (Instruction(NEG, (0,), (1,)), Instruction(NEG, (1,), (2,)), Instruction(SIN, (2,), (3,))),
        (0,),
        (3,),
        4,
    )
    compiled = compile_program(program, [TensorMeta.of("f64", (3,))])
    assert str(compiled).splitlines()[1:-1] == ["  %1: f64[3] = sine %0!", "  return %1"]


def chain(length: int) -> CompiledProgram[StdTensorOp]:
    """A straight line of ops over one matrix, with work for every pass."""
    ops: list[tuple[StdTensorOp, int]] = [
        (SIN, 1),
        (NEG, 1),
        (NEG, 1),
        (MUL, 2),
        (Transpose((1, 0)), 1),
        (DotGeneral((1, 0), (1, 0), (), ()), 2),
        (COS, 1),
        (Reshape((1, 1)), 1),
    ]
    instructions = [
        Instruction(op, (slot,) * arity, (slot + 1,))
        for slot, (op, arity) in enumerate(ops[i % len(ops)] for i in range(length))
    ]
    return CompiledProgram(tuple(instructions), (0,), (length,), length + 1)


def test_a_chain_of_100_000_ops_is_compiled_and_freed_at_the_default_recursion_limit() -> None:
    length = 100_000
    program = compile_program(chain(length), [TensorMeta.of("f64", (1, 1))])
    assert len(program.instructions) < length
    assert len(program.digest) == 64


def test_a_digest_is_the_same_in_every_process() -> None:
    text = str(read(TEXT))
    code = f"from tenferro.compiler import optimize, parse; print(optimize(parse({text!r})).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("0", "1", "4711")
    }
    assert digests == {optimize(read(TEXT)).digest}


def test_optimizing_makes_one_instruction_for_each_and_nothing_else_that_stays() -> None:
    x = tn.TracedTensor.input((8,))
    compiled: CompiledProgram[StdTensorOp] = compile_graph(
        materialize_merge(resolve_keys(), [work.chain(x, 1_000).key])
    )
    lowered = compile_std_to_exec(compiled, [TensorMeta.of("f64", (8,))])
    optimize(lowered)
    _, count = work.tracked_objects(lambda: optimize(lowered))
    assert count < 1_050


@pytest.mark.parametrize("each", [*CANONICAL, Numbering()], ids=lambda each: each.name)
@pytest.mark.parametrize(
    "text",
    [TEXT, CONJUGATES, CONTRACTIONS, TURNED],
    ids=["mixed", "conjugates", "contractions", "turned"],
)
def test_a_canonical_pass_returns_a_canonical_program_itself(each: Pass, text: str) -> None:
    program = optimize(read(text))
    assert each.run(program) is program
