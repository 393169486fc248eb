"""The passes of XLA on the CPU: each has a switch, and each does something that it switches off."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tenferro.compiler import (
    CANONICAL,
    CPU,
    LoopFusion,
    OptimizerOptions,
    Pass,
    RenumberSlots,
    optimize,
)
from tenferro.ir import verify
from tenferro_xla.platforms import CPU_PLATFORM
from tests.compiler.canonical.test_lane_fusion import ALIKE
from tests.compiler.canonical.test_loop_fusion import STARTING_ALIKE
from tests.compiler.canonical.test_scan_pushout_dot import SUM
from tests.compiler.canonical.test_switch_fusion import VALUE_AND_DERIVATIVE
from tests.compiler.canonical.test_while_fusion import VALUES
from tests.compiler.canonical.test_while_fusion import program as while_loops
from tests.programs import SEVERAL, SIZES, assert_same_results, read

XLA_CPU = (*CANONICAL, *CPU_PLATFORM.passes(CPU))
NOT_PASSES = {"layout_costs", "memory_limit", "repeated_operands"}
NAMES = [each.name for each in fields(OptimizerOptions) if each.name not in NOT_PASSES]

CONJUGATES = """
exec_program(%0: c128[4,5], %1: c128[5,6]) {
  %2: c128[4,5] = conj %0
  %3: c128[5,6] = conj %1
  %4: c128[4,6] = dot_general[(1,), (0,)] %2, %3
  return %4
}"""
# The second contraction reads the result of the first in another order of axes.
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
ONE_ROUND = """
exec_program(%0: f64[3], %1: f64[1,3]) {
  %2: f64[3] = scan[consts=0, carry=1, length=1] %0, %1 {
    body(%0: f64[3], %1: f64[3]) {
      %2: f64[3] = add %0, %1
      return %2
    }
  }
  return %2
}"""
INVARIANT = """
exec_program(%0: f64[3], %1: f64[3]) {
  %2: f64[3] = scan[consts=1, carry=1, length=4] %0, %1 {
    body(%0: f64[3], %1: f64[3]) {
      %2: f64[3] = sine %0
      %3: f64[3] = add %1, %2
      return %3
    }
  }
  return %2
}"""
WINDOWS = """
exec_program(%0: f64[1], %1: f64[1], %2: f64[1], %3: f64[1]) {
  %4: f64[] = constant[value=0.0, dtype=f64]
  %5: f64[4] = pad[low=(0,), high=(3,), interior=(0,)] %0, %4
  %6: f64[4] = pad[low=(1,), high=(2,), interior=(0,)] %1, %4
  %7: f64[4] = pad[low=(2,), high=(1,), interior=(0,)] %2, %4
  %8: f64[4] = pad[low=(3,), high=(0,), interior=(0,)] %3, %4
  %9: f64[4] = add %5, %6
  %10: f64[4] = add %9, %7
  %11: f64[4] = add %10, %8
  return %11
}"""
BATCH = """
exec_program(%0: f64[3,4], %1: f64[5,4], %2: f64[5,3]) {
  %3: f64[5,3,4] = broadcast_in_dim[shape=(5, 3, 4), dims=(1, 2)] %0
  %4: f64[5,3] = dot_general[(2,), (1,), (0,), (0,)] %3, %1
  %5: f64[5,3,4] = dot_general[(), (), (0,), (0,)] %4, %1
  %6: f64[3,4] = reduce_sum[axes=(0,)] %5
  %7: f64[5,3,4] = broadcast_in_dim[shape=(5, 3, 4), dims=(0, 2)] %1
  %8: f64[5,3,4] = multiply %3, %7
  %9: f64[5,3] = reduce_sum[axes=(2,)] %8
  return %6, %9
}"""
ROUNDS = "\n".join(
    f"%{i}: f64[3] = {'sine' if i % 2 else 'cosine'} %{i - 1}" for i in range(1, 201)
)
ROLLED = f"exec_program(%0: f64[3]) {{\n{ROUNDS}\nreturn %200\n}}"
ELEMENTWISE = ("sine", "tanh", "cosine", "exponential", "sine", "tanh", "sine", "cosine", "tanh")
STEPS = "\n".join(f"%{i}: f64[16] = {op} %{i - 1}" for i, op in enumerate(ELEMENTWISE, 1))
REPEATED = f"""
exec_program(%0: f64[16]) {{
  {STEPS}
  %10: f64[65536,16] = broadcast_in_dim[shape=(65536, 16), dims=(1,)] %9
  return %10
}}"""
SQUARES = """
exec_program(%0: c128[64,64]) {
  %1: f64[64,64] = real %0
  %2: f64[64,64] = multiply %1, %1
  %3: f64[64,64] = imag %0
  %4: f64[64,64] = multiply %3, %3
  %5: f64[64,64] = add %2, %4
  %6: f64[64] = reduce_sum[axes=(0,)] %5
  return %6
}"""
QUOTIENT = """
exec_program(%0: f64[5000], %1: f64[5000]) {
  %2: f64[5000] = divide %0, %1
  %3: f64[5000] = multiply %2, %0
  %4: f64[5000] = add %3, %2
  return %4
}"""
ADDED = "\n".join(f"%{i}: i64[2000] = add %{i - 1}, %1" for i in range(2, 10))
PICKED = (
    "f64[2000] = gather[offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), "
    "index_vector_dim=1, slice_sizes=(1,)]"
)
INDICES = f"""
exec_program(%0: f64[50], %1: i64[2000]) {{
  {ADDED}
  %10: f64[50] = sine %0
  %11: {PICKED} %0, %9
  %12: {PICKED} %10, %9
  %13: f64[2000] = multiply %11, %12
  return %13
}}"""
NORMALIZED = """
exec_program(%0: c128[400], %1: f64[400]) {
  %2: c128[400] = convert[dtype=c128] %1
  %3: c128[400] = divide %0, %2
  return %3
}"""
SHARED = """
exec_program(%0: c128[400]) {
  %1: c128[400] = exponential %0
  %2: c128[] = reduce_sum[axes=(0,)] %1
  return %1, %2
}"""
PADDED = """
exec_program(%0: f64[5000]) {
  %1: f64[] = constant[value=0.0, dtype=f64]
  %2: f64[5004] = pad[low=(0,), high=(4,), interior=(0,)] %0, %1
  %3: f64[5004] = pad[low=(1,), high=(3,), interior=(0,)] %0, %1
  %4: f64[5004] = pad[low=(2,), high=(2,), interior=(0,)] %0, %1
  %5: f64[5004] = pad[low=(3,), high=(1,), interior=(0,)] %0, %1
  %6: f64[5004] = pad[low=(4,), high=(0,), interior=(0,)] %0, %1
  %7: f64[5004] = add %2, %3
  %8: f64[5004] = add %7, %4
  %9: f64[5004] = add %8, %5
  %10: f64[5004] = add %9, %6
  %11: f64[5004] = sine %10
  %12: f64[5004] = reverse[axes=(0,)] %10
  %13: f64[] = reduce_sum[axes=(0,)] %10
  %14: f64[] = reduce_max[axes=(0,)] %10
  %15: f64[5004] = cosine %10
  return %11, %12, %13, %14, %15
}"""
BORDERED = """
exec_program(%0: f64[2000]) {
  %1: f64[] = constant[value=0.0, dtype=f64]
  %2: f64[2002] = pad[low=(1,), high=(1,), interior=(0,)] %0, %1
  %3: f64[2000] = slice[starts=(0,), limits=(2000,), strides=(1,)] %2
  %4: f64[2000] = slice[starts=(1,), limits=(2001,), strides=(1,)] %2
  %5: f64[2000] = slice[starts=(2,), limits=(2002,), strides=(1,)] %2
  %6: f64[2000] = multiply %3, %4
  %7: f64[2000] = multiply %6, %5
  return %7
}"""
STENCIL = """
exec_program(%0: f64[2000]) {
  %1: f64[1] = slice[starts=(1999,), limits=(2000,), strides=(1,)] %0
  %2: f64[1999] = slice[starts=(0,), limits=(1999,), strides=(1,)] %0
  %3: f64[2000] = concatenate[axis=0] %1, %2
  %4: f64[1999] = slice[starts=(1,), limits=(2000,), strides=(1,)] %0
  %5: f64[1] = slice[starts=(0,), limits=(1,), strides=(1,)] %0
  %6: f64[2000] = concatenate[axis=0] %4, %5
  %7: f64[2000] = multiply %3, %6
  %8: f64[2000] = multiply %7, %0
  return %8
}"""
ALIKE_REPEATED = """
exec_program(%0: f64[4,3]) {
  %1: f64[4,2,3] = broadcast_in_dim[shape=(4, 2, 3), dims=(0, 2)] %0
  %2: f64[4,2,3] = sine %1
  return %2
}"""
PIECES = {
    "broadcast_sinking": ALIKE_REPEATED,
    "loop_inlining": ONE_ROUND,
    "loop_invariant_code_motion": INVARIANT,
    "scan_pushout_dot": SUM,
    "pads_to_concatenate": WINDOWS,
    "summed_products": BATCH,
    "reroll": ROLLED,
    "lane_sum_fusion": ALIKE,
    "scan_fusion": STARTING_ALIKE,
    "switch_fusion": VALUE_AND_DERIVATIVE,
    "while_fusion": while_loops(VALUES.format(results="%3: f64[]", limit=0.5)),
    "contraction_layout": CONTRACTIONS,
    "conjugate_sinking": CONJUGATES,
    "real_contractions": COMPLEX,
    "real_divisors": NORMALIZED,
    "fused_quotients": QUOTIENT,
    "fused_parts": SQUARES,
    "materialized_products": REPEATED,
    "materialized_functions": SHARED,
    "materialized_indices": INDICES,
    "materialized_paddings": PADDED,
    "rolls_to_slices": STENCIL,
    "stored_borders": BORDERED,
    "transpose_barriers": TURNED,
}


def test_every_pass_has_an_option_and_every_option_a_pass() -> None:
    fused = set(LoopFusion.switches)
    assert {each.name for each in XLA_CPU} - {"loop_fusion"} == set(NAMES) - fused


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_is_switched_on_and_off_alone(name: str) -> None:
    text = PIECES.get(name, SEVERAL)
    off = optimize(read(text), replace(OptimizerOptions(), **{name: False}), XLA_CPU)
    on = optimize(read(text), replace(OptimizerOptions.none(), **{name: True}), XLA_CPU)
    for program in (off, on):
        verify(program)
        assert_same_results(read(text), program, SIZES)
    assert str(off) != str(optimize(read(text), passes=XLA_CPU))
    assert str(on) != str(optimize(read(text), OptimizerOptions.none()))


@pytest.mark.parametrize("each", [*CANONICAL, RenumberSlots()], ids=lambda each: each.name)
@pytest.mark.parametrize("text", [SEVERAL, *PIECES.values()], ids=["several", *PIECES])
def test_a_canonical_pass_returns_a_canonical_program_itself(each: Pass, text: str) -> None:
    program = optimize(read(text))
    assert each.run(program) is program
