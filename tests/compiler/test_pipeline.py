import subprocess
import sys

import pytest

import tenferro as tn
from tenferro.compiler import (
    OptimizerOptions,
    compile_std_to_exec,
    optimize,
)
from tenferro.core import (
    CompiledProgram,
    Instruction,
    compile_graph,
    materialize_merge,
    resolve_keys,
)
from tenferro.ops import COS, MUL, NEG, SIN, DotGeneral, Reshape, StdTensorOp, Transpose
from tenferro.shape import TensorMeta
from tests import work
from tests.programs import PASSES, SEVERAL, read, short


def test_the_whole_pipeline_as_text() -> None:
    assert (
        short(optimize(read(SEVERAL), passes=PASSES))
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


def test_without_passes_only_last_uses_are_marked() -> None:
    program = optimize(read(SEVERAL), OptimizerOptions.none())
    assert str(program).replace("!", "") == str(read(SEVERAL))
    assert "multiply %6!, %7!" in str(program)


def test_options_are_a_key() -> None:
    assert hash(OptimizerOptions()) == hash(OptimizerOptions())
    assert OptimizerOptions() != OptimizerOptions.none()
    assert len({OptimizerOptions(), OptimizerOptions.none(), OptimizerOptions()}) == 2


def test_optimizing_twice_changes_nothing() -> None:
    once = optimize(read(SEVERAL))
    assert str(optimize(once)) == str(once)


def test_a_compiled_program_is_lowered_and_optimized() -> None:
    program: CompiledProgram[StdTensorOp] = CompiledProgram(
        (Instruction(NEG, (0,), (1,)), Instruction(NEG, (1,), (2,)), Instruction(SIN, (2,), (3,))),
        (0,),
        (3,),
        4,
    )
    compiled = optimize(compile_std_to_exec(program, [TensorMeta.of("f64", (3,))]))
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


def test_a_chain_of_10_000_ops_is_compiled_and_freed_at_the_default_recursion_limit() -> None:
    length = 10_000
    program = optimize(compile_std_to_exec(chain(length), [TensorMeta.of("f64", (1, 1))]))
    assert len(program.instructions) < length
    assert len(program.digest) == 64


@pytest.mark.exhaustive
def test_a_digest_is_the_same_in_every_process() -> None:
    text = str(read(SEVERAL))
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
    assert digests == {optimize(read(SEVERAL)).digest}


def test_optimizing_makes_one_instruction_for_each_and_nothing_else_that_stays() -> None:
    x = tn.TracedTensor.input((8,))
    compiled: CompiledProgram[StdTensorOp] = compile_graph(
        materialize_merge(resolve_keys(), [work.chain(x, 1_000).key])
    )
    lowered = compile_std_to_exec(compiled, [TensorMeta.of("f64", (8,))])
    optimize(lowered)
    _, count = work.tracked_objects(lambda: optimize(lowered))
    assert count < 1_050
