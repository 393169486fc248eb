"""Vectors that a matrix repeats, which XLA must compute once."""

import numpy as np
import pytest

import tenferro as tn
from tenferro_xla.passes import StoredVectors
from tests.programs import assert_same_results, read, short

REPEATED = """
    exec_program(%0: f64[64,64], %1: f64[64]) {
      %2: f64[64] = cosine %1
      %3: f64[64] = multiply %1, %2
      %4: f64[64,64] = broadcast_in_dim[shape=(64,64), dims=(1,)] %3
      %5: f64[64,64] = multiply %0, %4
      %6: f64[64,64] = broadcast_in_dim[shape=(64,64), dims=(0,)] %3
      %7: f64[64,64] = multiply %5, %6
      return %7
    }"""


def test_a_function_of_a_vector_is_stored_once() -> None:
    program = read(REPEATED)
    result = StoredVectors().run(program)
    assert_same_results(program, result, {})
    assert short(result).count("xla_stored %3") == 1
    assert StoredVectors().run(result) is result


@pytest.mark.parametrize(
    ("old", "new"),
    [("cosine %1", "negate %1"), ("64", "16"), ("64,64", "4,64"), ("f64[64]", "f64[]")],
    ids=["cheap", "small", "few", "scalar"],
)
def test_others_are_left_to_xla(old: str, new: str) -> None:
    text = REPEATED.replace(old, new)
    if new == "f64[]":
        text = text.replace("(1,)", "()").replace("(0,)", "()")
    if new == "4,64":
        text = text.replace("(0,)", "(1,)")
    program = read(text)
    assert StoredVectors().run(program) is program


def test_stored_values_keep_their_bits() -> None:
    @tn.jit
    def f(x, d):  # type: ignore[no-untyped-def]  # of a compiled function
        return x * tn.exp(d)[..., None, :] + tn.diag(tn.exp(d[0]) * x.sum(axis=(0, 1)))

    rng = np.random.default_rng(0)
    x, d = rng.normal(size=(3, 64, 64)), rng.normal(size=(3, 64))
    expected = x * np.exp(d)[:, None] + np.diag(np.exp(d[0]) * x.sum((0, 1)))
    np.testing.assert_allclose(np.asarray(f(x, d)), expected, rtol=1e-12, atol=1e-12)
