"""Sums of paddings that XLA must not compute again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import parse_exec, verify
from tenferro_xla.platforms import OPS, MaterializedPaddings
from tests.programs import assert_same_results, read, short
from tests.sampling import some

SIZES = (100, 5), (5000, 3), (5000, 5), (9000, 16)


def program(size: int, paddings: int, readers: str) -> Any:
    text = f"exec_program(%0: f64[{size}]) {{\n%1: f64[] = constant[value=0.0, dtype=f64]\n"
    total, long = "", f"f64[{size + 4}]"
    for i in range(paddings):
        text += f"%p{i}: {long} = pad[low=({i},), high=({4 - i},), interior=(0,)] %0, %1\n"
        text += f"%s{i}: {long} = add {total}, %p{i}\n" if total else ""
        total = f"%s{i}" if total else f"%p{i}"
    text += readers.replace("LONG", long).replace("SUM", total)
    names = {
        name: str(i)
        for i, name in enumerate(["p0", "p1", "p2", "p3", "p4", "s1", "s2", "s3", "s4"], 10)
    }
    for name, number in names.items():
        text = text.replace(f"%{name}", f"%{number}")
    return read(text + "}")


SEVERAL = """%2: LONG = sine SUM
%3: LONG = reverse[axes=(0,)] SUM
%4: f64[] = reduce_sum[axes=(0,)] SUM
%5: f64[] = reduce_max[axes=(0,)] SUM
%6: LONG = cosine SUM
return %2, %3, %4, %5, %6
"""
ONE = """%2: LONG = multiply SUM, SUM
%3: LONG = multiply SUM, %2
%4: LONG = add SUM, %3
%5: LONG = multiply SUM, %4
return %5
"""


def test_a_sum_of_paddings_that_several_kernels_read_is_stored() -> None:
    before = program(5000, 5, SEVERAL)
    result = MaterializedPaddings().run(before)
    verify(result, after="materialized_paddings")
    assert_same_results(before, result, {})
    lines = short(result).splitlines()
    (place,) = (i for i, line in enumerate(lines) if "xla_stored" in line)
    assert "add" in lines[place - 1]
    assert str(parse_exec(str(result), OPS)) == str(result)
    assert MaterializedPaddings().run(result) is result


@pytest.mark.parametrize(
    ("size", "paddings", "readers"),
    [(5000, 4, SEVERAL), (4000, 5, SEVERAL), (5000, 5, ONE)],
    ids=["four paddings", "few numbers", "one kernel"],
)
def test_other_sums_are_left_to_xla(size: int, paddings: int, readers: str) -> None:
    before = program(size, paddings, readers)
    assert MaterializedPaddings().run(before) is before


CASES = [(*sizes, dtype) for sizes in SIZES for dtype in ("float64", "float32", "complex128")]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(("size", "few", "dtype"), some(CASES, 2))
def test_results_are_those_without_the_pass(size: int, few: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, v = (rng.normal(size=n).astype(dtype) for n in (size, few))
    f = tn.grad(lambda x, v: tn.sum(abs(tn.convolve(x, v)) ** 2), argnums=(0, 1))
    found = tn.jit(f)(x, v)
    plain = tn.jit(f, options=tn.OptimizerOptions(materialized_paddings=False))(x, v)
    numpy = tn.jit(f, executor="numpy")(x, v)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for one, other, third in zip(found, plain, numpy, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(one, third, rtol=tolerance, atol=tolerance * few)
    x[7], x[-1] = np.inf, np.nan
    for one, third in zip(tn.jit(f)(x, v), tn.jit(f, executor="numpy")(x, v), strict=True):
        np.testing.assert_array_equal(np.isfinite(one), np.isfinite(third))
