"""einsum and tensordot in all their forms, on every kind of tensor, and their errors."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given

import tenferro as tn
import tenferro_xla as txla
from tenferro import network
from tenferro.errors import DTypeError, MemoryLimitError, PathError, ShapeError, SubscriptError
from tenferro.network import (
    PLANNER,
    PLANS,
    ContractionOptimizerOptions,
    ContractionTree,
    NestedEinsum,
    Subscripts,
)
from tests.networks import expressions, instances, random_array

GENERATOR = np.random.default_rng(0)
A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))
CUBE = GENERATOR.normal(size=(3, 3, 4))
BATCH = GENERATOR.normal(size=(5, 2, 3))
CASES = [
    ("ij,jk,kl->il", (A, B, C)),
    ("ij,jk", (A, B)),
    ("ji,jk", (A, A)),
    ("ii", (CUBE[:, :, 0],)),
    ("ii->i", (CUBE[:, :, 0],)),
    ("iij->ij", (CUBE,)),
    ("iij->", (CUBE,)),
    ("iij,jk->k", (CUBE, C)),
    ("ij->ji", (A,)),
    ("ij->", (A,)),
    ("ij->j", (A,)),
    ("ij,ij->ij", (A, A)),
    ("ij,ij->", (A, A)),
    ("i,j->ij", (A[0], A[1])),
    ("i,j->ji", (A[0], B[0])),
    ("i,i,i,i->i", (A[0],) * 4),
    ("ij,ik,il->jkl", (A, A, A)),
    ("bij,jk->bik", (BATCH, B)),
    ("...ij,jk->...ik", (BATCH, B)),
    ("...j,jk", (BATCH, B)),
    ("...,...", (BATCH, A)),
    ("i...->...", (BATCH,)),
    ("...ii->...i", (GENERATOR.normal(size=(2, 3, 3)),)),
    (",ij", (2.0, A)),
    (",,", (2.0, 3.0, 4.0)),
    ("ij,jk", (np.ones((2, 1)), B)),
    ("i,i->i", (np.ones(1), A[0])),
    ("bn,anm,bm->ba", (A, GENERATOR.normal(size=(4, 3, 5)), GENERATOR.normal(size=(2, 5)))),
    (
        "ea,fb,abcd,gc,hd->efgh",
        (np.ones((2, 2)),) * 2 + (np.ones((2,) * 4),) + (np.ones((2, 2)),) * 2,
    ),
]


@pytest.mark.parametrize(("text", "operands"), CASES, ids=[text for text, _ in CASES])
def test_values_are_numpys(text: str, operands: tuple[np.ndarray, ...]) -> None:
    expected = np.einsum(text, *operands)
    for optimize in (True, False, "greedy", "optimal"):
        result = tn.einsum(text, *operands, optimize=optimize)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    compiled = tn.jit(lambda *values: tn.einsum(text, *values))(*operands)
    np.testing.assert_allclose(compiled, expected, rtol=1e-12, atol=1e-12)


@given(expressions())
def test_random_expressions_are_numpys(case: tuple[str, list[tuple[int, ...]]]) -> None:
    text, shapes = case
    operands = [random_array(GENERATOR, shape, "complex128") for shape in shapes]
    expected = np.einsum(text, *operands)
    np.testing.assert_allclose(tn.einsum(text, *operands), expected, rtol=1e-12, atol=1e-12)


def test_an_output_label_that_repeats_is_put_on_the_diagonal() -> None:
    np.testing.assert_array_equal(tn.einsum("i->ii", A[0]), np.diag(A[0]))
    expected = np.zeros((2, 3, 3))
    expected[:, range(3), range(3)] = A
    np.testing.assert_array_equal(tn.einsum("ij->ijj", A), expected)
    np.testing.assert_array_equal(tn.einsum("i,j->iji", A[0], A[1])[0, :, 0], A[0, 0] * A[1])


def test_all_forms_of_a_call_say_the_same() -> None:
    expected = A @ B
    subscripts = Subscripts.parse("ij,jk->ik")
    for result in (
        tn.einsum(subscripts, A, B),
        tn.einsum(A, [0, 1], B, [1, 2], [0, 2]),
        tn.einsum(A, [0, 1], B, [1, 2]),
        tn.einsum(A, [..., 1], B, [1, 2], [..., 2]),
        tn.einsum(([[0, 1], [1, 2]], [0, 2]), A, B),
        tn.einsum(NestedEinsum.parse("(ij,jk)->ik"), A, B),
        tn.einsum("(ij,jk)->ik", A, B),
        tn.einsum("ij,jk->ik", A.tolist(), tn.Tensor(B)),
    ):
        np.testing.assert_allclose(result, expected)


def test_every_strategy_gives_the_same() -> None:
    text, expected = "ij,jk,kl->il", A @ B @ C
    shapes = [A.shape, B.shape, C.shape]
    tree = ContractionTree.of(Subscripts.parse(text), shapes, [(1, 2), (0, 1)])
    plan = tn.einsum_plan(text, A, B, C, optimize=[(1, 2), (0, 1)])
    for optimize in (
        [(0, 1), (0, 1)],
        ["einsum_path", (0, 1), (0, 1)],
        [(0, 1, 2)],
        NestedEinsum.parse("(ij,(jk,kl))->il"),
        tree,
        plan,
        network.EinsumPlan.from_json(plan.to_json()),
        ContractionOptimizerOptions(method="search", objective="size", trials=4),
        network.LeftToRight(),
    ):
        np.testing.assert_allclose(tn.einsum(text, A, B, C, optimize=optimize), expected)


def test_dtypes_are_promoted_as_numpy_does() -> None:
    ints = np.arange(6).reshape(2, 3)
    assert tn.einsum("ij,ij->", ints, ints).dtype == np.int64
    assert tn.einsum("ij,jk->ik", ints.astype("int32"), B.astype("float32")).dtype == np.float64
    assert tn.einsum("ij,jk->ik", A.astype("float32"), B.astype("complex64")).dtype == np.complex64
    flags = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(
        tn.einsum("ij,jk->ik", flags, flags), np.einsum("ij,jk->ik", flags, flags)
    )


def test_zero_sizes_sum_to_zero() -> None:
    result = tn.einsum("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3)))
    np.testing.assert_array_equal(result, np.zeros((2, 3)))
    assert tn.einsum("ij,jk->ik", np.ones((0, 2)), np.ones((2, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ij,jk->ik", A, C), ShapeError, "label 'j' of .* has size 3 .* and size 4"),
        (("ij,jk->ik", A), SubscriptError, "names 2 operands, but 1 are given"),
        (("ij->ij",), SubscriptError, "there are no operands"),
        (("ijk->ij", A), SubscriptError, r"operand 0 has 2 axes \[2,3\]"),
        (("...ijk->ij", A), SubscriptError, "operand 0 has 2 axes, but .* names 3"),
        (("ij->ik", A), SubscriptError, "output label 'k'"),
        ((5, A), SubscriptError, "the first argument is subscripts, got an int"),
        (("ij->ij", "text"), DTypeError, "einsum: operand 0"),
    ],
)
def test_wrong_calls_are_refused(
    arguments: tuple[object, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tn.einsum(*arguments)


def test_wrong_orders_are_refused() -> None:
    with pytest.raises(PathError, match="uncontracted"):
        tn.einsum("ij,jk,kl->il", A, B, C, optimize=[(0, 1)])
    with pytest.raises(PathError, match="is not a method"):
        tn.einsum("ij,jk->ik", A, B, optimize="best")
    with pytest.raises(PathError, match="the parentheses give the order; leave optimize out"):
        tn.einsum("(ij,jk)->ik", A, B, optimize=False)
    with pytest.raises(PathError, match="the plan is for"):
        tn.einsum("ij,jk->ik", A, B, optimize=tn.einsum_plan("ij,jk->ik", B, C))
    tree = ContractionTree.of(Subscripts.parse("ij,jk->ik"), [(3, 4), (4, 5)], [(0, 1)])
    with pytest.raises(PathError, match="the tree is for another network"):
        tn.einsum("ij,jk->ik", A, B, optimize=tree)
    with pytest.raises(PathError, match="objective must be one of time, flops, size"):
        ContractionOptimizerOptions(objective="memory")  # type: ignore[arg-type]
    with pytest.raises(PathError, match="trials must be at least 1"):
        ContractionOptimizerOptions(trials=0)


SMALL = [one for one in instances() if one["paths"]["opt_flops"]["log10_flops"] < 8.0]


@pytest.mark.skipif(not SMALL, reason="the instances are not beside the checkout")
@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(
            one,
            id=one["name"],
            marks=pytest.mark.exhaustive if one["paths"]["opt_flops"]["log2_size"] > 20 else [],
        )
        for one in SMALL
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_instances_of_the_benchmark_are_right(instance: dict[str, object], dtype: str) -> None:
    generator = np.random.default_rng(1)
    text, shapes, paths = instance["format_string"], instance["shapes"], instance["paths"]
    operands = [random_array(generator, tuple(shape), dtype) for shape in shapes]  # type: ignore[attr-defined]
    wide = [operand.astype(np.result_type(operand, np.float64)) for operand in operands]
    path = paths["opt_flops"]["path"]  # type: ignore[index]
    expected = np.einsum(text, *wide, optimize=["einsum_path", *map(tuple, path)])  # type: ignore[call-overload]
    scale = np.max(np.abs(expected))
    tolerance = (
        1e-12 if np.dtype(dtype).itemsize // (1 + (np.dtype(dtype).kind == "c")) == 8 else 1e-4
    )
    for which in ("opt_flops", "opt_size"):
        order = paths[which]["path"]  # type: ignore[index]
        run = tn.jit(lambda *values, order=order: tn.einsum(text, *values, optimize=order))
        np.testing.assert_allclose(run(*operands), expected, rtol=tolerance, atol=tolerance * scale)


def test_sizes_known_late_are_not_sliced() -> None:
    x = tn.TracedTensor.input(("n", "n"), name="x")
    with pytest.raises(PathError, match="slices= needs known sizes"):
        tn.einsum("ij,jk->ik", x, x, slices="j")
    limited = tn.einsum("ij,jk->ik", x, x, memory_limit=100)
    program = tn.GraphCompiler().compile([limited])
    with pytest.raises(MemoryLimitError, match="need 800 bytes at once, but 100"):
        txla.XlaExecutor().run(program, {"x": np.ones((10, 10))})
    with pytest.raises(PathError, match="memory_limit= needs known sizes"):
        tn.einsum("ij,jk->ik", x, x, optimize=False, memory_limit=100)


CHAIN = "ij,jk,kl->il"


def on_xla(array: np.ndarray) -> jax.Array:
    with jax.enable_x64(True):
        return jax.numpy.asarray(array)


def runtime(executor: Any) -> tn.EagerRuntime:
    rules = tn.AdContext.builder().with_extension_rules(network.ad_rules()).build()
    made = tn.EagerRuntime(executor=executor, ad_context=rules)
    if not isinstance(executor, txla.XlaExecutor):
        made.register_extension(network.register_runtime)
    return made


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": lambda x: x,
    "tensor": tn.Tensor,
    "jax": on_xla,
    "eager": runtime(tn.GraphExecutor(tn.NumpyBackend())).constant,
    "eager_xla": runtime(txla.XlaExecutor()).constant,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_contracted_where_its_tensors_are(kind: str) -> None:
    operands = [KINDS[kind](x) for x in (A, B, C)]
    for slices in (None, "j"):
        result = tn.einsum(CHAIN, *operands, slices=slices)
        np.testing.assert_allclose(np.asarray(result), A @ B @ C, rtol=1e-12)
    if kind == "jax":
        assert result.placement == tn.Tensor(operands[0]).placement
    if kind.startswith("eager"):
        assert isinstance(result, tn.EagerTensor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [0, 1, 2, ([1], [0]), ([0, 1], [1, 2]), ([-1], [1])])
def test_tensordot_is_numpys_on_every_kind(kind: str, axes: Any) -> None:
    x, y = GENERATOR.normal(size=(3, 3)), GENERATOR.normal(size=(3, 3, 3))
    result = tn.tensordot(KINDS[kind](x), KINDS[kind](y), axes=axes)
    np.testing.assert_allclose(np.asarray(result), np.tensordot(x, y, axes), rtol=1e-12)


@pytest.mark.parametrize("axes", [1, ([1], [0])])
def test_tensordot_of_traced_tensors_and_its_gradient(axes: Any) -> None:
    def product(x: Any, y: Any) -> Any:
        return tn.tensordot(x, y, axes=axes)

    np.testing.assert_allclose(tn.jit(product)(A, B), np.tensordot(A, B, axes), rtol=1e-12)
    gradient = tn.grad(lambda x: tn.sum(product(x, B) ** 2))(A)
    np.testing.assert_allclose(gradient, 2 * (A @ B) @ B.T, rtol=1e-12)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", [tn.GraphExecutor(tn.NumpyBackend()), txla.XlaExecutor()])
@pytest.mark.parametrize("slices", [None, "j"])
def test_backward_goes_through_a_network(executor: Any, slices: Any) -> None:
    made = runtime(executor)
    x, y, z = (made.variable(each) for each in (A, B, C))
    tn.sum(tn.einsum(CHAIN, x, y, z, slices=slices) ** 2).backward()
    result = 2 * A @ B @ C
    expected = (result @ (B @ C).T, A.T @ result @ C.T, (A @ B).T @ result)
    for each, wanted in zip((x, y, z), expected, strict=True):
        np.testing.assert_allclose(np.asarray(each.grad), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_a_repeated_call_plans_and_compiles_once(kind: str) -> None:
    text = "ab,bc,cd,de->ae"
    operands = [KINDS[kind](GENERATOR.normal(size=(3, 3))) for _ in range(4)]
    tn.einsum(text, *operands)
    plans, trees = PLANS.stats().misses, PLANNER.stats().misses
    executor = tn.Tensor(operands[0]).executor
    compiled = 0 if executor is None else executor.stats().misses
    for _ in range(3):
        tn.einsum(text, *operands)
    assert (PLANS.stats().misses, PLANNER.stats().misses) == (plans, trees)
    assert (0 if executor is None else executor.stats().misses) == compiled
