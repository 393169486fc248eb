"""The three families keep the contract of extension ops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_ext_tropical as tropical
import tenferro_ext_tropical.xla
import tenferro_xla
from tenferro.extension import UnregisteredExtensionError
from tenferro.testing import check_extension
from tenferro_ext_tropical import TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp
from tenferro_ext_tropical.ops import Contraction

PRODUCT = ("maxplus", (0, 1), (1, 2), (0, 2))
BATCHED = ("minplus", (0, 1, 2), (0, 2, 3, 3), (1, 0))
SHAPES = {PRODUCT: [(3, 4), (4, 5), (3, 5)], BATCHED: [(2, 3, 4), (2, 4, 5, 5), (3, 2)]}
XLA = pytest.mark.parametrize(
    "register_xla",
    [pytest.param(None, marks=pytest.mark.exhaustive), tropical.xla.register_lowerings],
)


def check(op: Contraction, *others: int, register_xla: Any, **options: Any) -> None:
    """Check an op on random operands and on arrays that have the shapes of some of these."""
    rng = np.random.default_rng(0)
    shapes = SHAPES[op.kind, op.lhs, op.rhs, op.output]
    check_extension(
        op,
        inputs=[rng.normal(size=shapes[i]) for i in (0, 1, *others)],
        rules=tropical.tropical_ad_rules(),
        terminal=[TropicalEinsumVjp.FAMILY_ID],
        register_runtime=tropical.register_runtime,
        register_xla=register_xla,
        codecs=tropical.payload_codecs(),
        **options,
    )


def test_the_package_has_all_parts_of_the_families() -> None:
    rng = np.random.default_rng(0)
    report = check_extension(
        TropicalEinsum(*PRODUCT),
        inputs=[rng.normal(size=shape) for shape in SHAPES[PRODUCT][:2]],
        terminal=[TropicalEinsumVjp.FAMILY_ID],
        packages=[tropical.PACKAGE],
        skip={"processes"},
    )
    words = {verdict.name: verdict.word for verdict in report.verdicts}
    assert {words[name] for name in ("runtime", "xla", "jvp", "files")} == {"holds"}


def test_the_package_and_the_parts_registered_one_by_one_agree() -> None:
    families = [rule.family_id for rule in tropical.PACKAGE.rules]
    assert families == [rule.family_id for rule in tropical.tropical_ad_rules()]
    assert list(tropical.PACKAGE.families) == list(tropical.payload_codecs())
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=(tropical.PACKAGE,))
    executor.register_extension(tropical.register_runtime)  # changes nothing


@XLA
def test_einsum_keeps_the_contract(register_xla: Any) -> None:
    different = [TropicalEinsum("minplus", *PRODUCT[1:]), TropicalEinsum("maxplus", (), (), ())]
    check(TropicalEinsum(*PRODUCT), register_xla=register_xla, different=different)


@pytest.mark.exhaustive
@XLA
def test_einsum_jvp_keeps_the_contract(register_xla: Any) -> None:
    check(TropicalEinsumJvp(*BATCHED, (0, 1)), 0, 1, register_xla=register_xla)
    check(TropicalEinsumJvp(*PRODUCT, (1,)), 1, register_xla=register_xla)


@pytest.mark.exhaustive
@XLA
def test_einsum_vjp_keeps_the_contract(register_xla: Any) -> None:
    check(TropicalEinsumVjp(*BATCHED, (0, 1)), 2, register_xla=register_xla)
    check(TropicalEinsumVjp(*PRODUCT, (0,)), 2, register_xla=register_xla)


def test_family_ids() -> None:
    assert [op.FAMILY_ID for op in (TropicalEinsum, TropicalEinsumJvp, TropicalEinsumVjp)] == [
        "tenferro-ext-tropical.einsum.v1",
        "tenferro-ext-tropical.einsum_jvp.v1",
        "tenferro-ext-tropical.einsum_vjp.v1",
    ]


def test_the_rule_set_has_the_two_families_that_derivatives_go_on_from() -> None:
    rules = tropical.tropical_ad_rules()
    assert TropicalEinsum.FAMILY_ID in rules
    assert TropicalEinsumJvp.FAMILY_ID in rules
    assert TropicalEinsumVjp.FAMILY_ID not in rules


def test_plans_are_kept_in_the_executors_cache() -> None:
    executor = tn.GraphExecutor(tn.NumpyBackend())
    executor.register_extension(tropical.register_runtime)
    program = tn.make_program(lambda x: tropical.einsum("ij,jk", x, x), tn.TensorSpec((2, 2)))
    for _ in range(3):
        executor.run(program, {"x": np.zeros((2, 2))})
    stats = executor.extension_caches.stats()
    assert (stats.entries, stats.hits, stats.misses) == (1, 2, 1)


def test_an_executor_without_the_runtime_refuses() -> None:
    program = tn.make_program(lambda x: tropical.einsum("ij,jk", x, x), tn.TensorSpec((2, 2)))
    with pytest.raises(UnregisteredExtensionError, match=r"tenferro-ext-tropical\.einsum\.v1"):
        tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": np.zeros((2, 2))})


def test_the_standard_form_stores_far_less_than_all_products(ctx: Any) -> None:
    size = 256
    spec = tn.TensorSpec((size, size))
    executor = tenferro_xla.XlaExecutor("cpu")

    def total(a: Any, b: Any) -> Any:
        return tn.sum(tropical.einsum("ij,jk", a, b))

    gradient = tn.grad(total, argnums=(0, 1), ad_context=ctx)
    all_products = 8 * size**3
    for function, part in ((total, 1 / 8), (gradient, 1 / 2)):
        program = tn.make_program(function, spec, spec)
        memory = executor.lower(program, {"a": spec, "b": spec}).compile().memory()
        assert memory.temporaries < part * all_products


def test_a_saved_program_is_loaded_and_differentiated_again(tmp_path: Path, ctx: Any) -> None:
    program = tn.make_program(
        lambda x, y: tropical.einsum("ij,jk->k", x, y), *[tn.TensorSpec(("n", "n"))] * 2
    )
    tn.save(program, tmp_path / "longest.tenferro")
    loaded = tn.load(tmp_path / "longest.tenferro", packages=(tropical.PACKAGE,))
    assert loaded.digest == program.digest
    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))
    gradient = tn.jit(tn.grad(lambda x: tn.sum(tn.call(loaded, x, y)), ad_context=ctx))(x)
    expected = tn.jit(tn.grad(lambda x: tn.sum(tropical.einsum("ij,jk->k", x, y)), ad_context=ctx))(
        x
    )
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("executor_name", ["numpy", "xla"])
def test_eager_tensors_record_and_differentiate(executor_name: str, ctx: Any) -> None:
    runtime = tn.EagerRuntime(executor=executor_name, ad_context=ctx)
    if executor_name == "numpy":
        runtime.register_extension(tropical.register_runtime)
    x = runtime.variable(np.array([[1.0, 5.0], [0.0, 2.0]]))
    loss = tn.sum(tropical.einsum("ij,jk", x, x))
    loss.backward()
    assert float(loss.detach()) == 19.0
    np.testing.assert_array_equal(x.grad.detach(), [[0, 3], [3, 2]])
