"""Derivatives: those of the winner, wherever there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
import tenferro_ext_tropical as tropical
from tenferro.extension import UnsupportedADRuleError
from tenferro_ext_tropical import TropicalEinsumVjp
from tenferro_ext_tropical.ops import Contraction, TropicalEinsumJvp
from tenferro_ext_tropical.subscripts import numbered

Array = np.ndarray[Any, np.dtype[Any]]
KINDS = st.sampled_from(["maxplus", "minplus"])
TIES = st.sampled_from([-1.0, 0.0, 1.0])
SPECIAL = st.sampled_from([-1.0, 0.0, 1.0, np.inf, -np.inf, np.nan])


@st.composite
def cases(draw: Any, elements: Any) -> Any:
    """Two terms, an output, and arrays that fit."""
    labels = "abcd"
    terms = [draw(st.text(labels, max_size=3)) for _ in range(2)]
    used = sorted(set("".join(terms)))
    output = "".join(draw(st.permutations([label for label in used if draw(st.booleans())])))
    sizes = {label: draw(st.integers(0, 3)) for label in labels}
    shapes = [[sizes[label] for label in term] for term in terms]
    arrays = []
    for shape in shapes:
        count = int(np.prod(shape))
        values = draw(st.lists(elements, min_size=count, max_size=count))
        arrays.append(np.reshape(np.array(values, float), shape))
    return terms, output, arrays


def by_definition(
    oracle: Any, terms: list[str], output: str, kind: str, arrays: list[Array], seeds: list[Array]
) -> tuple[Array, list[Array]]:
    """The tangent for seeds of the operands; and cotangents, for the last seed."""
    result, won = oracle(terms, output, kind)(*arrays)
    tangent = np.zeros_like(result)
    cotangents = [np.zeros_like(x) for x in arrays]
    for here, places in won.items():
        tangent[here] = sum(seed[i] for seed, i in zip(seeds, places, strict=False))
        for cotangent, i in zip(cotangents, places, strict=True):
            cotangent[i] += seeds[-1][here]
    return tangent, cotangents


def seeds_for(arrays: list[Array], output_shape: tuple[int, ...]) -> list[Array]:
    """Distinct whole numbers, one array for each operand and one for the result."""
    rng = np.random.default_rng(0)
    return [rng.permutation(1 + np.arange(np.prod(shape))).reshape(shape).astype(float)
            for shape in (*(x.shape for x in arrays), output_shape)]  # fmt: skip


@given(cases(TIES) | cases(SPECIAL), KINDS)
@settings(max_examples=50)
def test_the_first_winner_takes_it_all(oracle: Any, case: Any, kind: str) -> None:
    terms, output, arrays = case
    shape = oracle(terms, output, kind)(*arrays)[0].shape
    seeds = seeds_for(arrays, shape)
    tangent, cotangents = by_definition(oracle, terms, output, kind, arrays, seeds)
    payload = (kind, *numbered(terms[0], terms[1], output), (0, 1))
    jvp, vjp = TropicalEinsumJvp(*payload), TropicalEinsumVjp(*payload)
    np.testing.assert_array_equal(jvp.eager_execute([*arrays, *seeds[:2]])[0], tangent)
    for found, expected in zip(vjp.eager_execute([*arrays, seeds[2]]), cotangents, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.exhaustive
@given(cases(TIES) | cases(SPECIAL), KINDS, st.sampled_from(["float32", "float64"]))
@settings(max_examples=15)
def test_all_executors_agree_on_derivatives(
    executors: dict[str, Any], ctx: Any, oracle: Any, case: Any, kind: Any, dtype: str
) -> None:
    terms, output, arrays = case
    shape = oracle(terms, output, kind)(*arrays)[0].shape
    seeds = [seed.astype(dtype) for seed in seeds_for(arrays, shape)]
    tangent, cotangents = by_definition(oracle, terms, output, kind, arrays, seeds)

    def both(x: Any, y: Any, dx: Any, dy: Any, ct: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return tropical.einsum(f"{','.join(terms)}->{output}", x, y, kind=kind)

        _, forward = tn.jvp(f, (x, y), (dx, dy), ad_context=ctx)
        return forward, tn.vjp(f, x, y, ad_context=ctx)[1](ct)

    values = [x.astype(dtype) for x in (*arrays, *seeds)]
    program = tn.make_program(both, *(tn.TensorSpec(x.shape, dtype) for x in values))
    for executor in executors.values():
        found = executor.run(program, dict(zip(("x", "y", "dx", "dy", "ct"), values, strict=True)))
        for one, expected in zip(found, [tangent, *cotangents], strict=True):
            np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("kind", ["maxplus", pytest.param("minplus", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("notation", ["ij,jk->ik", "bij,bjk->kb", "iij,jk->i", "ij,kl->jl"])
def test_gradients_are_finite_differences_at_unique_winners(
    executor: Any, ctx: Any, kind: Any, notation: str
) -> None:
    rng = np.random.default_rng(1)
    sizes = dict(zip("bijkl", (2, 3, 4, 5, 3), strict=True))
    x, y = (
        rng.normal(size=[sizes[label] for label in term])
        for term in notation.partition("->")[0].split(",")
    )

    def f(x: Any, y: Any) -> Any:
        z = tropical.einsum(notation, x, y, kind=kind)
        return tn.sum(z * tn.exp(z))

    program = tn.make_program(
        tn.grad(f, argnums=(0, 1), ad_context=ctx), tn.TensorSpec(x.shape), tn.TensorSpec(y.shape)
    )
    gradients = executor.run(program, {"x": x, "y": y})
    for i, gradient in enumerate(gradients):
        np.testing.assert_allclose(gradient, _differences(f, [x, y], i), rtol=1e-6, atol=1e-7)


def _differences(f: Callable[..., Any], arrays: list[Array], i: int, step: float = 1e-6) -> Array:
    result = np.zeros_like(arrays[i])
    for at in np.ndindex(result.shape):
        ends = []
        for sign in (1, -1):
            moved = [x.copy() for x in arrays]
            moved[i][at] += sign * step
            ends.append(float(f(*moved)))
        result[at] = (ends[0] - ends[1]) / (2 * step)
    return result


def test_the_gradient_under_jit_is_that_of_the_winning_path(ctx: Any) -> None:
    rng = np.random.default_rng(2)
    steps = [rng.normal(size=(4, 4)) for _ in range(4)]

    def best(steps: Any) -> Any:
        return tropical.einsum("ab,bc,cd,de->", *steps)

    gradients = tn.jit(tn.grad(best, ad_context=ctx))(steps)
    paths = np.stack(np.meshgrid(*[range(4)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    totals = sum(step[paths[:, i], paths[:, i + 1]] for i, step in enumerate(steps))
    path = paths[np.argmax(totals)]
    for i, gradient in enumerate(gradients):
        expected = np.zeros((4, 4))
        expected[path[i], path[i + 1]] = 1
        np.testing.assert_array_equal(gradient, expected)


def test_what_no_path_reaches_is_constant(executor: Any, ctx: Any) -> None:
    x = np.full((2, 3), np.inf)
    x[1, 1] = 4.0
    program = tn.make_program(
        tn.grad(lambda x: tn.sum(tropical.einsum("ij->i", x, kind="minplus")), ad_context=ctx),
        tn.TensorSpec((2, 3)),
    )
    (gradient,) = executor.run(program, {"x": x})
    np.testing.assert_array_equal(gradient, [[0, 0, 0], [0, 1, 0]])


def test_a_tangent_of_one_operand_alone_is_half_the_work(ctx: Any) -> None:
    def moved(a: Any, b: Any, da: Any) -> Any:
        return tn.jvp(lambda a: tropical.einsum("ij,jk", a, b), (a,), (da,), ad_context=ctx)[1]

    program = tn.make_program(moved, *[tn.TensorSpec((2, 2))] * 3)
    assert "operands=(0,)" in str(program)


def test_forward_over_forward_is_zero_and_reverse_over_reverse_is_refused(ctx: Any) -> None:
    x = np.array([1.0, 5.0, 2.0])

    def square(x: Any) -> Any:
        return tropical.einsum("i,i->", x, x)

    def slope(x: Any) -> Any:
        return tn.jvp(square, (x,), (np.ones(3),), ad_context=ctx)[1]

    once, twice = tn.jit(lambda x: tn.jvp(slope, (x,), (np.ones(3),), ad_context=ctx))(x)
    assert (float(once), float(twice)) == (2.0, 0.0)
    with pytest.raises(UnsupportedADRuleError, match=r"einsum_vjp\.v1") as caught:
        tn.jit(tn.hessian(square, ad_context=ctx))(x)
    assert caught.value.family_id == TropicalEinsumVjp.FAMILY_ID


def test_without_the_rules_a_derivative_is_refused_with_the_family() -> None:
    with pytest.raises(UnsupportedADRuleError, match=r"tenferro-ext-tropical.einsum.v1: no lin"):
        tn.grad(lambda x: tropical.einsum("i->", x))(np.zeros(2))


def test_an_unused_cotangent_is_not_computed(ctx: Any) -> None:
    def both(a: Any, b: Any) -> Any:
        return tn.grad(
            lambda a, b: tn.sum(tropical.einsum("ij,jk", a, b)), argnums=(0, 1), ad_context=ctx
        )(a, b)[1]

    program = tn.make_program(both, tn.TensorSpec((2, 2)), tn.TensorSpec((2, 2)))
    assert "operands=(1,)" in str(program)
    assert "operands=(0, 1)" not in str(program)
    assert isinstance(TropicalEinsumVjp("maxplus", (), (), (), (1,)), Contraction)


def test_a_compiled_function_has_the_rules_of_the_transform_around_it() -> None:
    def total(x: Any) -> Any:
        return tn.sum(tropical.einsum("ij,jk->ik", x, x))

    inner = tn.jit(tn.grad(total))

    def outer(y: Any, x: Any) -> Any:
        return tn.sum(inner(x) * y)

    packages = (tropical.PACKAGE,)
    x, context = tn.Tensor([[1.0, 2.0], [4.0, 0.0]]), tn.AdContext(packages=packages)
    found = tn.jit(tn.grad(outer, ad_context=context), packages=packages)(x, x)
    assert found.tolist() == tn.grad(total, ad_context=context)(x).tolist()
    with pytest.raises(UnsupportedADRuleError, match="no linearize rule is registered"):
        tn.jit(tn.grad(outer), packages=packages)(x, x)
