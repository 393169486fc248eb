"""What is refused: keys, shapes, dtypes and parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import random
from tenferro.errors import DTypeError, ShapeError
from tests.random.calls import CALLS, draw

KEY = random.key(42)


@pytest.mark.parametrize("name", CALLS)
def test_something_that_is_not_one_key(name: str) -> None:
    with pytest.raises(
        DTypeError, match=rf"^random\.{name}: a key is made by tn\.random\.key, got int"
    ):
        draw(name, 42)
    text = f"random.{name}: a key has shape (), got keys (3,); vmap over them"
    with pytest.raises(ShapeError, match=f"^{re.escape(text)}$"):
        draw(name, random.split(KEY, 3))


@pytest.mark.parametrize(
    "name",
    [name for name in CALLS if "dtype" in inspect.signature(getattr(random, name)).parameters],
)
def test_a_dtype_of_another_kind(name: str) -> None:
    function = getattr(random, name)
    given = dict(zip(list(inspect.signature(function).parameters)[1:], CALLS[name], strict=False))
    with pytest.raises(DTypeError, match=rf"^random\.{name}: dtype must be .*, got bool$"):
        function(KEY, **{**given, "dtype": "bool"})


@pytest.mark.parametrize(
    ("name", "field"),
    [
        *[("uniform", "minval"), ("truncated_normal", "lower"), ("truncated_normal", "upper")],
        *[("gamma", "a"), ("loggamma", "a"), ("beta", "a"), ("beta", "b"), ("t", "df")],
        *[("dirichlet", "alpha"), ("poisson", "lam"), ("chisquare", "df"), ("f", "dfnum")],
        *[("f", "dfden"), ("lognormal", "sigma"), ("pareto", "b"), ("rayleigh", "scale")],
        *[("weibull_min", "scale"), ("weibull_min", "concentration"), ("triangular", "left")],
        *[("triangular", "mode"), ("wald", "mean"), ("geometric", "p"), ("ball", "p")],
        *[("generalized_normal", "p"), ("multivariate_normal", "mean")],
        *[("multivariate_normal", "cov")],
    ],
)
def test_a_complex_parameter(name: str, field: str) -> None:
    function = getattr(random, name)
    given = dict(zip(list(inspect.signature(function).parameters)[1:], CALLS[name], strict=False))
    value = np.asarray(given.get(field, 1.0)) + 1j
    text = f"random.{name}: {field} must be real, got c128["
    with pytest.raises(DTypeError, match=f"^{re.escape(text)}"):
        function(KEY, **{**given, field: value})


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: random.uniform(random.split(KEY, 3)),
     "random.uniform: a key has shape (), got keys (3,); vmap over them"),
    (lambda: random.key(1.5), "random.key: the seed must be an integer, got float"),  # type: ignore[arg-type]
    (lambda: random.key(True), "random.key: the seed must be an integer, got bool"),
    (lambda: random.key(2**70), "random.key: the seed must be an integer of 64 bits, got 118"),
    (lambda: random.key(np.ones(3, int)), "random.key: the seed must be an integer, got i64[3]"),
    (lambda: random.choice(KEY, 3, (5,), replace=False),
     "random.choice: 5 without replacement from 3"),
    (lambda: random.choice(KEY, 0, (5,)), "random.choice: 5 from 0 elements"),
    (lambda: random.choice(KEY, 3, (2,), p=[0.5, 0.5]),
     "random.choice: p must have 3 elements, one for each of a, got f64[2]"),
    (lambda: random.uniform(42), "random.uniform: a key is made by tn.random.key, got int"),
    (lambda: random.uniform((3,)), "random.uniform: a key is made by tn.random.key, got tuple"),
    (lambda: random.uniform(np.zeros(2)),
     "random.uniform: a key is made by tn.random.key, or is u32[2], got f64[2]"),
    (lambda: random.uniform(KEY, (3,), "int32"),
     "random.uniform: dtype must be floating-point, got i32"),
    (lambda: random.uniform(KEY, (3,), minval=np.ones(4)),
     "random.uniform: a parameter f64[4] does not broadcast to shape (3,)"),
    (lambda: random.gamma(KEY, np.ones((2, 3)), (3,)),
     "random.gamma: a parameter f64[2,3] does not broadcast to shape (3,)"),
    (lambda: random.uniform(KEY, (3,), maxval=1j),
     "random.uniform: maxval must be real, got complex"),
    (lambda: random.randint(KEY, (3,), 0.5, 3),
     "random.randint: minval must be an integer, got float"),
    (lambda: random.bits(KEY, (3,), "int32"),
     "random.bits: dtype must be an unsigned integer type, got i32"),
    (lambda: random.bernoulli(KEY, 1), "random.bernoulli: p must be floating-point, got int"),
    (lambda: random.gumbel(KEY, mode="x"), "random.gumbel: mode must be 'low' or 'high', got 'x'"),
    (lambda: random.categorical(KEY, np.ones((2, 3)), shape=(4, 5)),
     "random.categorical: shape (4, 5) must end with (2,), the axes of f64[2,3] without -1"),
    (lambda: random.categorical(KEY, np.ones(3), shape=(5,), replace=False),
     "random.categorical: 5 without replacement from 3"),
    (lambda: random.permutation(KEY, 2.5),  # type: ignore[arg-type]
     "random.permutation: x must be an integer or an array, got f64[]"),
    (lambda: random.fold_in(KEY, -1), "random.fold_in: data must be an integer of 32 bits, got -1"),
    (lambda: random.wrap_key_data([1, 2]),
     "random.wrap_key_data: words must be u32[..., 2], got i64[2]"),
    (lambda: KEY[0], "key: 1 indices for keys (); tn.random.split(key, n) makes n keys"),
    (lambda: random.split(KEY, 3)[0, 1], "key: 2 indices for keys (3,)"),
    (lambda: random.categorical(KEY, np.ones((2, 0))),
     "random.categorical: axis -1 of f64[2,0] has no elements to choose from"),
    (lambda: random.normal(KEY, ("n", 2)),
     "random.normal: the size 'n' has a number only in a function that is traced"),
    (lambda: np.asarray(KEY), "key: a key is not an array; tn.random.key_data(key) is"),
    (lambda: KEY + 1, "unsupported operand type(s) for +: 'Key' and 'int'"),  # type: ignore[operator]
    (lambda: random.Key(), "Key: keys are made by tn.random.key(seed), split and fold_in"),
    (lambda: tn.grad(lambda key: tn.sum(random.normal(key, (3,))))(KEY),
     "derivative by key.words: u32[2] is neither floating-point nor complex"),
    (lambda: random.multivariate_normal(KEY, [0.0], np.eye(2)),
     "random.multivariate_normal: mean must be [..., n] and cov [..., n, n], got f64[1] and "
     "f64[2,2]"),
    (lambda: random.ball(KEY, -1), "random.ball: d must not be negative, got -1"),
    (lambda: random.ball(KEY, 1.5), "random.ball: d must be an integer, got float"),  # type: ignore[arg-type]
    (lambda: random.orthogonal(KEY, 2, m=-1), "random.orthogonal: m must not be negative, got -1"),
    (lambda: random.split(KEY, -1),
     "random.split: a size must not be negative, got shape (-1,)"),
    (lambda: random.normal(KEY, (2, -1)),
     "random.normal: a size must not be negative, got shape (2, -1)"),
    (lambda: random.normal(KEY, 2.5), "shape: 2.5 is not a size; pass an integer"),  # type: ignore[arg-type]
    (lambda: random.normal(KEY, (2**40, 2**40)), "normal: f64[1099511627776,1099511627776] takes"),
    (lambda: random.wald(KEY, np.ones(2), (3,)),
     "random.wald: a parameter f64[2] does not broadcast to shape (3,)"),
    (lambda: random.beta(KEY, np.ones(2), np.ones(3)),
     "random.beta: operands have types f64[2] and f64[3]; axis -1 has sizes 2 and 3"),
    (lambda: random.fold_in(KEY, 1.5), "random.fold_in: data must be an integer, got float"),
    (lambda: random.fold_in(KEY, np.ones(2, int)),
     "random.fold_in: data must be an integer, got i64[2]"),
    (lambda: random.categorical(KEY, np.ones(3), axis=1),
     "random.categorical: axis 1 is out of range for rank 1"),
    (lambda: random.categorical(KEY, [1, 2]),
     "random.categorical: logits must be floating-point, got i64[2]"),
    (lambda: random.choice(KEY, np.ones((2, 3)), axis=2),
     "random.choice: axis 2 is out of range for rank 2"),
    (lambda: random.choice(KEY, 2.5), "random.choice: a must be an integer or an array, got f64[]"),  # type: ignore[arg-type]
    (lambda: random.permutation(KEY, -1), "random.permutation: x must not be negative, got -1"),
    (lambda: random.choice(KEY, -3, (2,)), "random.choice: a must not be negative, got -3"),
    (lambda: random.dirichlet(KEY, 1.0),
     "random.dirichlet: alpha must have at least one axis, got f64[]"),
    (lambda: random.wrap_key_data(np.zeros(3, "uint32")),
     "random.wrap_key_data: words must be u32[..., 2], got u32[3]"),
    (lambda: random.multivariate_normal(KEY, [0.0], [[1.0]], method="lu"),
     "random.multivariate_normal: method must be one of cholesky, eigh, svd, got 'lu'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=[text for _, text in ERRORS])
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match="^" + re.escape(text)):
        call()
