"""The families of general matrices and of matrix equations."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import BackendFailureError
from tenferro.extension import ExtensionOp, apply
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.eig import Eig
from tenferro.linalg.matrix_functions import Frechet, MatrixFunction
from tenferro.linalg.schur import Schur
from tenferro.testing import check_extension
from tenferro_xla.lowering.linalg import refuse_absent
from tests.linalg.cases import general_cases, positive
from tests.linalg.differences import random
from tests.ops.extension.cases import Case

pytestmark = pytest.mark.exhaustive

MORE = [
    Case(MatrixFunction("exp"), (("m", "m"),)),
    Case(MatrixFunction("log"), (("m", "m"),), into=positive),
    Case(Frechet("exp", adjoint_first=True), (("m", "m"), ("m", "m"))),
]


@pytest.mark.parametrize("dtype", ["d", "D"])
@pytest.mark.parametrize("case", [*general_cases(), *MORE], ids=lambda case: type(case.op).__name__)
def test_families_keep_the_contract(case: Case, dtype: str) -> None:
    """On XLA and in files they are among the cases of all surfaces."""
    factor = 1 + 0.1j if dtype == "D" else 1
    report = check_extension(
        case.op,
        inputs=[array * factor for array in case.arrays],
        rules=tn.linalg.ad_rules() if case.has_derivative else None,
        register_runtime=tn.linalg.register_runtime,
        skip={"processes"},
    )
    if case.has_derivative:
        assert report["second order"].word == "holds"
        assert report["adjoint"].word == "holds"


@pytest.mark.parametrize("dtype", ["d", "D"])
def test_derivatives_keep_v_times_its_inverse_and_the_decomposition(dtype: str) -> None:
    """dV V⁻¹ + V dV⁻¹ = 0, and d(V diag w V⁻¹) = dA."""
    rng = np.random.default_rng(0)
    a, da = random(rng, (2, 4, 4), dtype), random(rng, (2, 4, 4), dtype)
    w, v, inverse = Eig().eager_execute([a])
    dw, dv, dinverse = Eig.jvp_op().eager_execute([w, v, inverse, da])
    np.testing.assert_allclose(dv @ inverse + v @ dinverse, np.zeros_like(v), atol=1e-12)
    moved = (dv * w[:, None] + v * dw[:, None]) @ inverse + (v * w[:, None]) @ dinverse
    np.testing.assert_allclose(moved, da, atol=1e-11)
    np.testing.assert_allclose(np.sum((v.conj() * dv).real, axis=-2), np.zeros((2, 4)), atol=1e-12)


@pytest.mark.parametrize(
    ("live", "results"),
    [((True, False, False), 1), ((True, True, False), 2), ((False, True, False), None)],
)
def test_eig_computes_what_is_read(live: tuple[bool, ...], results: int | None) -> None:
    pruned = Eig().prune_outputs(live)
    assert pruned == (None if results is None else Eig(results))


def test_values_alone_have_the_same_derivative() -> None:
    a = np.random.default_rng(0).normal(size=(3, 3))

    def total(op: ExtensionOp) -> np.ndarray:
        def loss(x):
            values = apply(op, x)
            values = values[0] if isinstance(values, tuple) else values
            return tn.sum(tn.abs(values) ** 3)

        return np.asarray(tn.grad(loss)(a))

    np.testing.assert_allclose(total(Eig(1)), total(Eig()))


def test_what_jax_does_not_have_on_a_platform_is_refused_there() -> None:
    text = r"tenferro-linalg.schur.v1: XLA has it on the CPU only, not on cuda; use the device 'cp"
    with pytest.raises(BackendFailureError, match=text):
        refuse_absent(Schur(), "cuda")
    text = "tenferro-linalg.eig.v1: XLA has it on cpu and cuda and rocm only, not on tpu"
    with pytest.raises(BackendFailureError, match=text):
        refuse_absent(Eig(), "tpu")
    for op, platform in (
        (Schur(), "cpu"),
        (Eig(), "cuda"),
        (MatrixFunction("exp"), "cuda"),
        (Cholesky(), "tpu"),
    ):
        refuse_absent(op, platform)
    refuse_absent(Eig(), "cpu", "cuda")
    with pytest.raises(BackendFailureError, match="on the CPU only, not on cuda and tpu"):
        refuse_absent(Schur(), "cuda", "cpu", "tpu")


@pytest.mark.parametrize("dtype", ["d", "D"])
def test_the_logarithm_has_its_derivative_in_jax_too(dtype: str) -> None:
    a = positive([random(np.random.default_rng(0), (3, 3), "d")])[0].astype(dtype)
    a = a * (1 + 0.2j) if dtype == "D" else a

    def loss(x):
        return tn.sum(tn.abs(tn.linalg.logm(x)) ** 2)

    program = tn.make_program(loss, tn.TensorSpec(a.shape, str(a.dtype)))
    theirs = tenferro_xla.jax_gradient(program, a)
    np.testing.assert_allclose(np.conj(theirs), np.asarray(tn.grad(loss)(a)), atol=1e-12)
