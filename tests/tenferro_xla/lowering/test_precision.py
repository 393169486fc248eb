"""Every product that is lowered has the precision of the executor, whoever writes it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import TenferroError
from tests.ops.extension.cases import SIZES, Case
from tests.ops.extension.test_surfaces import CASES, IDS

PRODUCTS = ("stablehlo.dot", "stablehlo.convolution")
HALF = {"float64": "float32", "complex128": "complex64"}
COMPLEX = {"float64": "complex64", "complex128": "complex64"}
NOT_FOR_CUDA = ("on the CPU only", "no compatibility guarantees")


def products(program: tn.GraphProgram, packages: Any = ()) -> list[str]:
    """The lines of products in the text of a program for the CPU, and for CUDA if it runs there."""
    try:
        made = tenferro_xla.export(program, platforms=("cpu", "cuda"), packages=packages)
    except TenferroError as error:
        if not any(text in str(error) for text in NOT_FOR_CUDA):
            raise
        lowered = tenferro_xla.XlaExecutor("cpu", packages=packages).lower(program)
        return lines_of(lowered.stablehlo())
    return lines_of(made.exported.mlir_module())


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(name in line for name in PRODUCTS)]


def is_highest(line: str) -> bool:
    return "precision = [HIGHEST, HIGHEST]" in line or line.count("precision HIGHEST") == 2


def value_and_gradient(case: Case) -> Callable[..., Any]:
    def both(*inputs: Any) -> Any:
        value = case.function(*inputs)
        if not case.has_derivative:
            return value
        return value, tn.grad(case.total, case.places, ad_context=case.context)(*inputs)

    return both


@pytest.mark.parametrize(
    "dtypes", [HALF, pytest.param(COMPLEX, marks=pytest.mark.exhaustive)], ids=["real", "complex"]
)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_products_in_the_lowerings_of_families(case: Case, dtypes: dict[str, str]) -> None:
    specs = [
        tn.TensorSpec(tuple(SIZES[name] for name in shape), dtypes.get(dtype, dtype))
        for shape, dtype in zip(case.shapes, case.all_dtypes, strict=True)
    ]
    try:
        found = products(tn.make_program(value_and_gradient(case), *specs), case.packages)
    except TenferroError:
        if dtypes is HALF:
            raise
        found = []  # of a family that takes real numbers only
    assert [line for line in found if not is_highest(line)] == []


def of_many_functions(a: Any, b: Any) -> Any:
    """Functions that multiply, of square matrices."""
    linalg = tn.linalg
    return (
        linalg.lstsq(a, b)[0],
        linalg.matrix_power(a, 3),
        linalg.multi_dot([a, b, a]),
        tn.grad(lambda a: tn.sum(tn.abs(linalg.pinv(a))))(a),
        tn.cov(a),
        tn.convolve(a[0], b[0]),
        tn.lax.conv(a[None, None], b[None, None], (1, 1), "SAME"),
        tn.scan(lambda c, _: (c @ b, tn.vdot(c, a)), a, length=3),
        tn.cond(tn.abs(a[0, 0]) > 1, lambda: a @ b, lambda: b @ a),
        tn.einsum("ab,bc,cd->ad", a, b, a),
        tn.tensordot(a, b),
        tn.kron(a, b),
        tn.inner(a, b),
    )


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_products_in_array_functions(dtype: str) -> None:
    spec = tn.TensorSpec((3, 3), dtype)
    found = products(tn.make_program(of_many_functions, spec, spec))
    assert len(found) > 10
    assert [line for line in found if not is_highest(line)] == []


@pytest.mark.parametrize(("precision", "wanted"), [("highest", True), ("default", False)])
def test_the_precision_is_that_of_the_executor_and_not_that_of_jax(
    precision: Any, wanted: bool
) -> None:
    x = np.eye(3, dtype="float32")
    executor = tenferro_xla.XlaExecutor("cpu", precision=precision)
    own = jax.jit(lambda x: x @ x)
    with jax.default_matmul_precision("bfloat16" if wanted else "highest"):
        text = tn.jit(lambda x: tn.linalg.pinv(x) @ x, executor=executor).lower(x).as_text()
        assert jax.config.jax_default_matmul_precision == ("bfloat16" if wanted else "highest")
    assert [is_highest(line) for line in lines_of(text)] == [wanted, wanted]
    assert not is_highest(own.lower(jnp.asarray(x)).as_text())
