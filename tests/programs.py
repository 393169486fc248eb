"""Execution programs: run by a loop over NumPy, compared, rewritten, made at random."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.compiler import CANONICAL, CPU, Pass, contraction_passes, parse
from tenferro.ir import ExecProgram, parse_exec, verify
from tenferro.ops import DotGeneral
from tenferro.ops.control_flow import VOCABULARY, LaneSum, Scan
from tenferro.shape import Leaf, SymDim, TensorMeta
from tests.tolerances import rounding

Array = np.ndarray[Any, Any]

PASSES = (*CANONICAL, *contraction_passes(CPU))
"""All passes that a program goes through on its way to a device of costs `CPU`, in order."""

SIZES: dict[Leaf, int] = {SymDim("n"): 3, SymDim("m"): 2}

SEVERAL = """
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
"""A program with work for most passes."""


def unverified(text: str) -> ExecProgram:
    """A program that may be malformed."""
    return parse_exec(text, VOCABULARY)


def run(program: ExecProgram, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of a program whose symbols are bound, one instruction after the other."""
    values = run_all(program, inputs)
    return [values[slot] for slot in program.output_slots]


def run_all(program: ExecProgram, inputs: Sequence[Array]) -> dict[int, Array]:
    """The value of every slot."""
    values: dict[int, Array] = dict(zip(program.input_slots, inputs, strict=True))
    with np.errstate(all="ignore"):
        for step in program.instructions:
            results = step.op.evaluate([values[slot] for slot in step.input_slots])
            values.update(zip(step.output_slots, results, strict=True))
    return values


def arguments(program: ExecProgram, seed: int = 0) -> list[Array]:
    """Random arrays of the types of a program's inputs."""
    rng = np.random.default_rng(seed)
    return [array_of(meta, rng) for meta in program.input_metas]


def array_of(meta: TensorMeta, rng: np.random.Generator) -> Array:
    """A random array of a type with constant extents."""
    shape = meta.static_shape
    assert shape is not None, meta
    numbers = rng.normal(size=shape) * 3
    if meta.dtype.kind == "c":
        numbers = numbers + 1j * rng.normal(size=shape)
    return np.asarray(numbers > 0 if meta.dtype.kind == "b" else numbers).astype(meta.dtype)


def assert_same_results(one: ExecProgram, other: ExecProgram, sizes: dict[Leaf, int]) -> None:
    """Both programs give the same outputs on random inputs, up to what rounding makes of them.

    An error of rounding is as large as the values on the way, of which little may be left.
    """
    one, other = one.bind(sizes), other.bind(sizes)
    inputs = arguments(one)
    values = run_all(one, inputs)
    scale = max([1.0, *(float(np.max(np.abs(value), initial=0)) for value in values.values())])
    expected = [values[slot] for slot in one.output_slots]
    for left, right in zip(expected, run(other, inputs), strict=True):
        assert right.dtype == left.dtype
        assert right.shape == left.shape
        tolerance = rounding(left.dtype)
        np.testing.assert_allclose(right, left, rtol=tolerance, atol=tolerance * scale)


def is_exact(program: ExecProgram) -> bool:
    """Whether the program can be run, once its symbols are bound."""
    return all(meta.dims is not None for meta in program.input_metas)


def read(text: str) -> ExecProgram:
    """The program of a text in which contractions may leave out the names of their lists."""
    return parse(re.sub(r"dot_general\[(\(.*?)\] ", _with_names, text))


def _with_names(dot: re.Match[str]) -> str:
    names = ("lhs_contract", "rhs_contract", "lhs_batch", "rhs_batch")
    lists = re.findall(r"\([^)]*\)", dot[1])
    payload = ", ".join(f"{name}={axes}" for name, axes in zip(names, lists, strict=False))
    return f"dot_general[{payload}] "


def short(program: ExecProgram) -> str:
    """The text of a program without those names, and without batch axes where there are none."""
    text = re.sub("(lhs|rhs)_(contract|batch)=", "", str(program))
    return re.sub(r"(dot_general\[.*), \(\), \(\)\]", r"\1]", text)


def rewritten(each: Pass, before: str) -> str:
    """The text of a program after a pass, which must keep the IR sound, types and results."""
    program = read(before)
    verify(program)
    result = each.run(program)
    verify(result, after=each.name)
    assert result.output_metas == program.output_metas
    if is_exact(program):
        assert_same_results(program, result, SIZES)
    return short(result)


def assert_rewrites(each: Pass, before: str, after: str) -> None:
    """The pass takes the one text to the other."""
    assert rewritten(each, before) == textwrap.dedent(after).strip()


def assert_leaves_alone(each: Pass, text: str) -> None:
    """The pass has nothing to do and returns the program itself."""
    program = read(text)
    assert rewritten(each, text) == short(program)
    assert each.run(program) is program


def dots(program: ExecProgram) -> int:
    """How many contractions one run of a program computes."""
    count = 0
    for step in program.instructions:
        if isinstance(step.op, DotGeneral):
            count += 1
        if isinstance(step.op, Scan | LaneSum):
            count += step.op.iterations * dots(step.op.body)
    return count
