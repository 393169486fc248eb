"""Ops that formulas define: derivatives of all orders, adjoints, and sizes that are known late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.extension import (
    Expression,
    FactorRule,
    KernelRuntime,
    LinearFormula,
    LinearFormulaRule,
    Package,
    StandardRuntime,
    apply,
    family_id,
)
from tenferro.extension import ExtensionOp as Op
from tenferro.shape import TensorMeta
from tenferro.testing import check_extension

Array = np.ndarray[Any, Any]


@family_id(namespace="tenferro-tests", name="gram", version=1)
@dataclass(frozen=True)
class Gram(Op):
    """The smaller one of x xᵀ and xᵀ x, as its trace of the square: a number for a matrix."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], ())]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        (x,) = inputs
        return [np.asarray(np.sum((x @ x.T) ** 2), x.dtype)]


@family_id(namespace="tenferro-tests", name="gram_jvp", version=1)
@dataclass(frozen=True)
class GramJvp(LinearFormula):
    """4 ⟨x xᵀ x, dx⟩, with the smaller product; it waits until the sizes can be compared."""

    present: tuple[bool, ...] = (True,)
    transforms: tuple[Any, ...] = ()

    fixed = 1
    formula_outputs = 1

    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        assert metas[0] is not None
        return [TensorMeta.of(metas[0].dtype, ())]

    def formula(self, *inputs: Any) -> Sequence[Expression] | None:
        x, dx = inputs
        rows, columns = x.shape
        if not isinstance(rows, int) or not isinstance(columns, int):
            return None
        product = (x @ x.T) @ x if rows < columns else x @ (x.T @ x)
        return (4 * (product * dx).sum(),)


PACKAGE = Package(
    "tenferro-tests-gram",
    ops=(Gram, GramJvp),
    rules=(
        FactorRule(Gram, lambda op: GramJvp(), reads_operands=True, reads_results=False),
        LinearFormulaRule(GramJvp),
    ),
    runtimes=(KernelRuntime(Gram.FAMILY_ID), StandardRuntime(GramJvp.FAMILY_ID)),
    lowerings={Gram: lambda op, x: ((x @ x.T) ** 2).sum()},
)
CONTEXT = tn.AdContext(packages=(PACKAGE,))
X = np.random.default_rng(0).normal(size=(2, 3))


def gram(x: Any) -> Any:
    return apply(Gram(), x)


def plain(x: Any) -> Any:
    return tn.sum((x @ x.T) ** 2)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 2)])
def test_derivatives_up_to_the_third_are_those_of_the_plain_function(
    executor: str, shape: tuple[int, int]
) -> None:
    x = np.resize(X, shape)

    def third(f: Any, **options: Any) -> Any:
        def second(x: Any) -> Any:
            return tn.sum(tn.grad(lambda y: tn.sum(tn.grad(f, **options)(y) ** 2), **options)(x))

        return tn.grad(second, **options)

    ours = tn.jit(
        third(gram, ad_context=CONTEXT),
        executor=executor,
        packages=(PACKAGE,),
        symbolic={"x": ("a", "b")},
    )
    np.testing.assert_allclose(ours(x), tn.jit(third(plain), executor="numpy")(x), rtol=1e-11)


def test_the_families_keep_the_contract() -> None:
    check_extension(Gram(), inputs=(X,), packages=(PACKAGE,), skip=("processes",))
    check_extension(GramJvp(), inputs=(X, X + 1), packages=(PACKAGE,), skip=("processes",))


def test_an_operand_without_elements_has_zero_derivatives() -> None:
    gradient = tn.grad(gram, ad_context=CONTEXT)
    assert tn.jit(gradient, packages=(PACKAGE,))(np.zeros((0, 3))).shape == (0, 3)
