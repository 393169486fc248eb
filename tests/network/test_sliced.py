"""Sliced contractions: one loop, right in value and derivative."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
import tenferro_xla as txla
from tenferro import network
from tenferro.network import SlicedNetwork
from tests.networks import expressions, random_array
from tests.sampling import some

GENERATOR = np.random.default_rng(0)
RING = "ab,bc,cd,de,ea->"
RING_SHAPES = [(3, 4), (4, 5), (5, 2), (2, 3), (3, 3)]
CASES: list[tuple[str, list[tuple[int, ...]], str]] = [
    (RING, RING_SHAPES, "a"),
    (RING, RING_SHAPES, "bd"),
    ("ij,jk->ik", [(3, 4), (4, 5)], "j"),
    ("ij,jk->ik", [(3, 4), (4, 5)], "ik"),
    ("iij,ik->k", [(3, 3, 4), (3, 5)], "i"),
    ("i,j->iji", [(3,), (4,)], "i"),
    ("abc,bc,c->a", [(2, 3, 4), (3, 4), (4,)], "c"),
    ("abc,bc,c->a", [(2, 1, 4), (3, 4), (4,)], "b"),
    ("ab,bc->ac", [(2, 0), (0, 3)], "b"),
]


def with_slices(text: str, slices: Any) -> Any:
    return lambda *values: tn.einsum(text, *values, slices=slices)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(("text", "shapes", "slices"), CASES)
@pytest.mark.parametrize("dtype", some(["complex128", "float64"], 2))
def test_values_and_gradients_are_those_without_slices(
    text: str, shapes: list[tuple[int, ...]], slices: str, dtype: str
) -> None:
    operands = [random_array(GENERATOR, shape, dtype) for shape in shapes]
    argnums = tuple(range(len(operands)))

    def loss(request: Any) -> Any:
        return lambda *values: tn.sum(tn.abs(with_slices(text, request)(*values)) ** 2)

    expected = tn.einsum(text, *operands)
    wanted = tn.grad(loss(None), argnums=argnums)(*operands)
    gradient = tn.grad(loss(slices), argnums=argnums)

    def both(*values: Any) -> Any:
        return with_slices(text, slices)(*values), gradient(*values)

    for f in (both, tn.jit(both), tn.jit(both, executor="numpy")):
        result, gradients = f(*operands)
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
        for one, other in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@settings(max_examples=40)
@given(expressions(), st.randoms(use_true_random=False))
def test_random_expressions_sliced_over_random_labels_are_numpys(
    case: tuple[str, list[tuple[int, ...]]], random: Random
) -> None:
    text, shapes = case
    terms, output = text.split("->")[0].split(","), text.split("->")[1]
    labels = [
        label
        for label in sorted(set("".join(terms)))
        if label in output or sum(label in term for term in terms) > 1
    ]
    slices = random.sample(labels, random.randint(0, len(labels)))
    operands = [random_array(GENERATOR, shape, "float64") for shape in shapes]
    result = tn.einsum(text, *operands, slices="".join(slices))
    np.testing.assert_allclose(result, np.einsum(text, *operands), rtol=1e-12, atol=1e-12)


def test_a_sliced_contraction_is_one_op_and_one_loop_for_value_and_gradient() -> None:
    specs = [tn.TensorSpec(shape) for shape in RING_SHAPES]
    sliced = with_slices(RING, "a")
    value = tn.make_program(sliced, *specs)
    assert sliced_ops(value) == [SlicedNetwork]
    both = tn.make_program(tn.value_and_grad(sliced, argnums=(0, 1, 2, 3, 4)), *specs)
    assert sliced_ops(both) == [SlicedNetwork] * 2
    texts = [txla.XlaExecutor().lower(program).stablehlo() for program in (value, both)]
    loops = {text.count("stablehlo.while") for text in texts}
    assert len(loops) == 1  # one for the slices of a lane, and one for each level of lanes


def sliced_ops(program: tn.GraphProgram) -> list[type]:
    return [
        type(step.op.op)
        for step in program.exec_program.instructions
        if isinstance(step.op, tn.extension.Extension)
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("compile_", [tn.jit, lambda f: f], ids=["jit", "traced"])
def test_third_derivatives_of_a_number_are_those_without_slices(dtype: str, compile_: Any) -> None:
    """Its cotangent is factored out of the loop, whether or not it is conjugated on the way."""
    text, shapes = "abx,bcx,cax->", [(3, 4, 5), (4, 2, 5), (2, 3, 5)]
    operands = [random_array(GENERATOR, shape, dtype) for shape in shapes]

    def third(slices: Any) -> Any:
        def loss(*values: Any) -> Any:
            y = tn.einsum(text, *values, slices=slices)
            return tn.log(tn.abs(y)) + tn.real(y) ** 2

        def first(*values: Any) -> Any:
            return tn.sum(tn.abs(tn.grad(loss)(*values)) ** 2)

        def second(*values: Any) -> Any:
            return tn.sum(tn.abs(tn.grad(first, argnums=1)(*values)) ** 2)

        return compile_(tn.grad(second, argnums=(0, 2)))(*operands)

    for sliced, whole in zip(third("x"), third(None), strict=True):
        np.testing.assert_allclose(sliced, whole, rtol=1e-9, atol=1e-9 * np.max(np.abs(whole)))


def test_second_derivatives_of_a_sliced_contraction() -> None:
    operands = [random_array(GENERATOR, shape, "float64") for shape in RING_SHAPES]

    def product(slices: Any) -> Any:
        def along(x: Any) -> Any:
            return tn.sum(tn.einsum(RING, x, *operands[1:], slices=slices) ** 2)

        return tn.hvp(along, (operands[0],), (operands[0] + 1,))

    np.testing.assert_allclose(product("bd"), product(None), rtol=1e-11)


def test_a_native_executor_has_the_family() -> None:
    operands = [random_array(GENERATOR, shape, "float64") for shape in RING_SHAPES]
    program = tn.make_program(with_slices(RING, "a"), *operands)
    binding = {declared.name: each for declared, each in zip(program.inputs, operands, strict=True)}
    native = tn.GraphExecutor(tn.NumpyBackend())
    (result,) = native.run(program, binding)
    np.testing.assert_allclose(result, np.einsum(RING, *operands), rtol=1e-12)
    native.register_extension(network.register_runtime)  # as before there were packages
    (again,) = native.run(program, binding)
    np.testing.assert_allclose(again, result, rtol=1e-12)
    assert native.extension_caches.stats().entries == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("sliced", [(0,), (1,), (0, 2)])
def test_the_family_keeps_the_contract_of_extension_ops(sliced: tuple[int, ...]) -> None:
    tn.testing.check_extension(
        SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced),
        inputs=[GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4))],
        different=[SlicedNetwork(((0, 1), (1, 2)), (2, 0), ((0, 1),), sliced)],
        rules=network.ad_rules(),
        register_runtime=network.register_runtime,
    )


def test_jax_differentiates_a_sliced_program_too() -> None:
    operands = [random_array(GENERATOR, shape, "float64") for shape in RING_SHAPES]
    program = tn.make_program(with_slices(RING, "a"), *operands)
    expected = tn.grad(lambda x: tn.einsum(RING, x, *operands[1:]))(operands[0])
    found = txla.jax_gradient(program, *operands)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
