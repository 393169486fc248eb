"""Execution programs: run by a loop over NumPy, compared, rewritten, made at random."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.compiler import Pass, parse
from tenferro.exec_ir import ExecProgram, verify
from tenferro.shape import Leaf, SymDim, TensorMeta
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]
SIZES: dict[Leaf, int] = {SymDim("n"): 3, SymDim("m"): 2}


def run(program: ExecProgram, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of a program whose symbols are bound, one instruction after the other."""
    values: dict[int, Array] = dict(zip(program.input_slots, inputs, strict=True))
    with np.errstate(all="ignore"):
        for step in program.instructions:
            results = step.op.evaluate([values[slot] for slot in step.input_slots])
            values.update(zip(step.output_slots, results, strict=True))
    return [values[slot] for slot in program.output_slots]


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
    """Both programs give the same outputs, up to rounding, on random inputs."""
    one, other = one.bind(sizes), other.bind(sizes)
    inputs = arguments(one)
    for expected, actual in zip(run(one, inputs), run(other, inputs), strict=True):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert_close(actual, expected, rounding(expected.dtype))


def is_exact(program: ExecProgram) -> bool:
    """Whether the program can be run, once its symbols are bound."""
    return all(meta.dims is not None for meta in program.input_metas)


def rewritten(each: Pass, before: str) -> str:
    """The text of a program after a pass, which must keep the IR sound, the types and the results."""
    program = parse(before)
    verify(program)
    result = each.run(program)
    verify(result, after=each.name)
    assert result.output_metas == program.output_metas
    if is_exact(program):
        assert_same_results(program, result, SIZES)
    return str(result)


def assert_rewrites(each: Pass, before: str, after: str) -> None:
    """The pass takes the one text to the other."""
    assert rewritten(each, before) == textwrap.dedent(after).strip()


def assert_leaves_alone(each: Pass, text: str) -> None:
    """The pass has nothing to do and returns the program itself."""
    program = parse(text)
    assert rewritten(each, text) == str(program)
    assert each.run(program) is program
