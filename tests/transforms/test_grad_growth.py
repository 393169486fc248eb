"""Programs of derivatives grow polynomially with the order: at most 16-fold where it doubles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import ops
from tenferro.ops import Elementwise
from tenferro.ops.functions import OpFunction, apply
from tenferro.shape import FLOAT64, TensorMeta
from tests.transforms.test_grad_high_order import count, gradients

Function = Callable[[Any], Any]
ORDERS = (1, 2, 4, 8, 16)
MATRIX = np.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]])
DIRECTION = np.diag([1.0, 2.0, 3.0]) + 0.1
NUMBERS = np.arange(1.0, 5.0)

BOUNDED: dict[str, tuple[Function, int]] = {
    "exp(2x)/(1+x²)": (lambda x: tn.exp(2 * x) / (1 + x * x), 120),
    "log1p(x²)·sqrt(2+cos x)": (lambda x: tn.log1p(x * x) * tn.sqrt(2 + tn.cos(x)), 320),
    "log(exp x + exp 2x)": (lambda x: tn.log(tn.exp(x) + tn.exp(2 * x)), 150),
    "sqrt": (tn.sqrt, 90),
    "arctan": (tn.arctan, 80),
    "1/(1+x)": (lambda x: 1 / (1 + x), 50),
    "(1+x²)**-3": (lambda x: (1 + x * x) ** -3, 110),
    "x**-6": (lambda x: x**-6, 60),
}

COMPOSED: dict[str, Function] = {
    "x^(1+x²)": lambda x: x ** (1 + x * x),
    "arctan2": lambda x: tn.arctan2(tn.sin(x), 1 + x),
    "hypot": lambda x: tn.hypot(x, 1 + x * x),
    "softmax": lambda x: tn.softmax(x * NUMBERS)[0],
    "logsumexp": lambda x: tn.logsumexp(x * NUMBERS),
    "std": lambda x: tn.std(tn.sin(x * NUMBERS)),
    "prod": lambda x: tn.prod(tn.sin(x + NUMBERS)),
    "cumprod": lambda x: tn.sum(tn.cumprod(tn.sin(x + NUMBERS))),
    "gelu": tn.nn.gelu,
    "det": lambda x: tn.linalg.det(MATRIX + x * DIRECTION),
    "slogdet": lambda x: tn.linalg.slogdet(MATRIX + x * DIRECTION)[1],
    "inv": lambda x: tn.sum(tn.linalg.inv(MATRIX + x * DIRECTION)),
    "solve": lambda x: tn.sum(tn.linalg.solve(MATRIX + x * DIRECTION, NUMBERS[:3])),
    "cholesky": lambda x: tn.sum(tn.linalg.cholesky(MATRIX + x * DIRECTION)),
    "eigvalsh": lambda x: tn.sum(tn.linalg.eigvalsh(MATRIX + x * DIRECTION) ** 2),
    "spectrum": lambda x: tn.sum(tn.abs(tn.fft.fft(tn.sin(x * NUMBERS)))),
}


def sizes(function: Function, orders: tuple[int, ...] = ORDERS) -> list[int]:
    return [count(tn.derivative(function, order)) for order in orders]


def grows_polynomially(found: list[int]) -> bool:
    return all(more <= 16 * fewer for fewer, more in pairwise(found))


def differentiable() -> list[ops.StdTensorOp]:
    """The elementwise ops of real numbers whose results are real."""
    every = [
        op()
        for op in ops.ALL_OPS
        if issubclass(op, Elementwise) and (op is ops.Rem or not op.payload_fields())
        if op not in (ops.Select, ops.GammaGrad)
    ]
    number = TensorMeta.of(FLOAT64, ())
    return [
        op
        for op in every
        if "f" in op.kinds and op.infer_all([number] * (op.n_inputs or 1)) == (number,)
    ]


@pytest.mark.exhaustive(but=10)
@pytest.mark.parametrize("op", differentiable(), ids=lambda op: op.name)
def test_every_elementwise_op(op: ops.StdTensorOp) -> None:
    def function(x: Any) -> Any:
        operands = [x, 1 + x * x, 2 + tn.sin(x)][: op.n_inputs]
        return apply(OpFunction(op), *operands)

    assert grows_polynomially(sizes(function))


@pytest.mark.parametrize("name", BOUNDED)
def test_named_functions_stay_below_their_bounds(name: str) -> None:
    function, bound = BOUNDED[name]
    found = sizes(function)
    assert found[3] <= bound
    assert grows_polynomially(found)
    assert count(gradients(function, 8)) == found[3]


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_reductions_and_matrices(name: str) -> None:
    assert grows_polynomially(sizes(COMPOSED[name], ORDERS[:4]))


UNARY = (tn.sin, tn.exp, tn.sqrt, tn.log, tn.arctan, tn.tanh, tn.square, tn.log1p, tn.cbrt)
BINARY = (tn.add, tn.subtract, tn.multiply, tn.divide, tn.hypot, tn.logaddexp)


@pytest.mark.exhaustive(but=10)
@pytest.mark.parametrize("seed", range(20))
def test_random_compositions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [
        (rng.integers(2), rng.integers(len(UNARY)), rng.integers(len(BINARY)), rng.integers(i + 1))
        for i in range(4)
    ]

    def function(x: Any) -> Any:
        values = [x]
        for binary, one, two, other in steps:
            last = values[-1]
            values.append(BINARY[two](last, values[other] + 2) if binary else UNARY[one](last))
        return values[-1]

    assert grows_polynomially(sizes(function, ORDERS[:4]))
