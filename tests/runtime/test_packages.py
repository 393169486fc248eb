"""Packages that functions bring: whoever runs them in the end has what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import UnsupportedExtensionError
from tenferro.runtime import executor_named, with_missing_packages
from tenferro_xla import XlaExecutor
from tests.ops.extension.cube import CUBE, cube

X = np.arange(1.0, 5.0)
AD = tn.AdContext(packages=(CUBE,))
VALUE, GRADIENT = np.sum(2 * X**3), 6 * X**2


def total(x: Any) -> Any:
    return tn.sum(cube(x, 2.0))


def inner(**options: Any) -> Callable[[Any], Any]:
    compiled = tn.jit(total, **options)
    return lambda x: compiled(x) * 2


def loaded() -> tn.GraphProgram:
    data = tn.dumps(tn.make_program(total, X), packages=(CUBE,))
    program: tn.GraphProgram = tn.loads(data, packages=(CUBE,))
    return program


VALUES: dict[str, Callable[[], Any]] = {
    "jit within jit": lambda: tn.jit(inner(packages=(CUBE,)))(X) / 2,
    "jit with an executor within jit": lambda: (
        tn.jit(inner(executor=XlaExecutor(packages=(CUBE,))))(X) / 2
    ),
    "jit within jit within jit": lambda: tn.jit(tn.jit(inner(packages=(CUBE,))))(X) / 2,
    "a loaded program": lambda: loaded()(X),
    "a loaded program on XLA": lambda: loaded()(tn.Tensor(X).to_device("xla")),
    "a loaded program within jit": lambda: tn.jit(loaded())(X),
    "a program of a compiled function": lambda: tn.make_program(tn.jit(total, packages=(CUBE,)), X)(
        X
    ),
}
GRADIENTS: dict[str, Callable[[], Any]] = {
    "grad": lambda: tn.grad(total, ad_context=AD)(X),
    "value_and_grad": lambda: tn.value_and_grad(total, ad_context=AD)(X)[1],
    "vjp": lambda: tn.vjp(total, X, ad_context=AD)[1](1.0)[0],
    "jacfwd": lambda: tn.jacfwd(total, ad_context=AD)(X),
    "jacrev": lambda: tn.jacrev(total, ad_context=AD)(X),
    "jit of grad": lambda: tn.jit(tn.grad(total, ad_context=AD))(X),
    "grad of jit": lambda: tn.grad(tn.jit(total, packages=(CUBE,)), ad_context=AD)(X),
    "grad of a loaded program": lambda: tn.grad(loaded(), ad_context=AD)(X),
    "grad of a plain jit within jit": lambda: (
        tn.jit(tn.grad(inner(packages=(CUBE,)), ad_context=AD))(X) / 2
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_function_brings_its_packages(name: str) -> None:
    np.testing.assert_allclose(VALUES[name](), VALUE)


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_context_brings_its_packages(name: str) -> None:
    np.testing.assert_allclose(GRADIENTS[name](), GRADIENT)


def test_tangents_and_second_derivatives_have_them_too() -> None:
    _, tangent = tn.jvp(total, (X,), (np.ones(4),), ad_context=AD)
    np.testing.assert_allclose(tangent, GRADIENT.sum())
    _, linear = tn.linearize(total, X, ad_context=AD)
    np.testing.assert_allclose(linear(np.ones(4)), GRADIENT.sum())
    np.testing.assert_allclose(tn.hessian(total, ad_context=AD)(X), np.diag(12 * X))


def test_packages_do_not_stay_with_an_executor() -> None:
    tn.jit(inner(packages=(CUBE,)))(X)
    with pytest.raises(UnsupportedExtensionError, match="or jit, a package"):
        tn.jit(total)(X)


def test_the_same_packages_give_the_same_executor() -> None:
    plain = executor_named("xla")
    richer = with_missing_packages(plain, (CUBE,))
    assert richer is not plain
    assert with_missing_packages(plain, [CUBE]) is richer
    assert with_missing_packages(richer, (CUBE,)) is richer
    assert with_missing_packages(plain, ()) is plain
