"""Functions of complex numbers that XLA must not compute again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import parse_exec, verify
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import OPS, MaterializedFunctions
from tests.programs import assert_same_results, read, short
from tests.tolerances import rounding

HEAD = "exec_program(%0: c128[300], %1: c128[300]) {\n%2: c128[300] = exponential %0\n"
SUM = "c128[] = reduce_sum[axes=(0,)]"
SLICED = "c128[299] = slice[starts=({}), limits=({}), strides=(1,)]"


def stored(body: str) -> list[str]:
    """What the pass stores: the types and ops before each `Materialize`."""
    program = read(HEAD + body + "}")
    result = MaterializedFunctions().run(program)
    verify(result, after="materialized_functions")
    assert_same_results(program, result, {})
    assert str(parse_exec(str(result), OPS)) == str(result)
    lines = [line.strip().split(" = ") for line in short(result).splitlines()]
    places = [i for i, line in enumerate(lines) if line[-1].startswith("xla_stored")]
    return [lines[i - 1][1].split()[0].split("[")[0] for i in places]


def test_a_function_that_two_kernels_read_is_stored() -> None:
    assert stored(f"%3: c128[300] = multiply %2, %1\n%4: {SUM} %3\nreturn %2, %4\n") == [
        "exponential"
    ]


def test_what_alone_follows_from_a_function_by_elements_is_stored_in_its_place() -> None:
    body = f"%3: c128[300] = multiply %2, %1\n%4: f64[300] = real %3\n%5: {SUM} %3\n"
    assert stored(f"{body}%6: {SUM} %1\nreturn %4, %5, %6\n") == ["multiply"]


def test_a_function_that_one_kernel_reads_at_two_places_is_stored() -> None:
    cuts = [SLICED.format(*each) for each in (("0,", "299,"), ("1,", "300,"))]
    body = f"%3: {cuts[0]} %2\n%4: {cuts[1]} %2\n%5: c128[299] = subtract %3, %4\n"
    assert stored(body + "return %5\n") == ["exponential"]


def test_a_function_that_is_repeated_is_stored() -> None:
    spread = "c128[9,300] = broadcast_in_dim[shape=(9, 300), dims=(1,)] %2"
    assert stored(f"%3: {spread}\n%4: c128[9,300] = negate %3\nreturn %4\n") == ["exponential"]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}%3: c128[300] = multiply %2, %1\n%4: {SUM} %3\nreturn %4\n}}",
        f"{HEAD}%3: c128[300] = multiply %2, %2\n%4: c128[300] = add %3, %2\nreturn %4\n}}",
        f"{HEAD}%3: {SUM} %2\nreturn %2, %3\n}}".replace("300", "200"),
        f"{HEAD}%3: {SUM} %2\nreturn %2, %3\n}}".replace("c128", "f64"),
        f"{HEAD}%3: {SUM} %2\nreturn %2, %3\n}}".replace("exponential", "negate"),
    ],
)
def test_functions_of_one_kernel_of_few_numbers_and_real_ones_are_left_to_xla(text: str) -> None:
    program = read(text)
    assert MaterializedFunctions().run(program) is program


def probes(dtype: str) -> Any:
    """Complex numbers, among them all pairs of zeros, infinities and NaN."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 40)) + 1j * rng.normal(size=(20, 40))
    parts = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan)
    x[3, :36] = [complex(re, im) for re in parts for im in parts]
    return x.astype(dtype)


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["exp", "sin", "cosh", "sqrt", "log", "tanh"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_those_without_the_pass(name: str, dtype: str) -> None:
    function: Callable[[Any], Any] = getattr(tn, name)

    def f(x: Any) -> Any:
        y = function(x)
        return y, tn.sum(y[4:], axis=0), y[:, 1:] - y[:, :-1]

    x = probes(dtype)
    plain = tn.OptimizerOptions(materialized_functions=False)
    on, off = (
        [each.numpy() for each in tn.jit(f, executor=XlaExecutor(), options=options)(x)]
        for options in (None, plain)
    )
    for one, other in zip(on, off, strict=True):
        np.testing.assert_allclose(one, other, rtol=rounding(dtype), atol=rounding(dtype))
    for part in (np.real, np.imag):
        assert (np.signbit(part(on[0])) == np.signbit(part(off[0])))[~np.isnan(part(on[0]))].all()


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("name", ["exp", "sin"])
def test_derivatives_are_those_without_the_pass_and_those_of_numpy(name: str) -> None:
    function = getattr(tn, name)

    def f(x: Any) -> Any:
        return tn.sum(tn.var(function(1j * x[:, 1:] * x[:, :-1]), axis=0))

    x = np.random.default_rng(0).normal(size=(20, 40)) * (1 + 0.5j)
    plain = tn.OptimizerOptions(materialized_functions=False)
    executors = XlaExecutor(), XlaExecutor(), tn.GraphExecutor(tn.NumpyBackend())
    for g in (tn.grad(f), lambda x: tn.jvp(tn.grad(f), (x,), (x,))[1]):
        on, off, host = (
            np.asarray(tn.jit(g, executor=executor, options=options)(x))
            for executor, options in zip(executors, (None, plain, None), strict=True)
        )
        np.testing.assert_allclose(on, off, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(on, host, rtol=1e-10, atol=1e-12)
