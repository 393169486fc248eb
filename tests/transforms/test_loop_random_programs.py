"""Random functions of loops, branches and maps have the values and derivatives of their rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers

import tenferro as tn
from tests.loop_languages import Numbers, Ours, Reference
from tests.random_loops import Block, random_function
from tests.tolerances import assert_close, difference, rounding

RNG = np.random.default_rng(0)
ARGS = (RNG.normal(size=3), RNG.normal(size=(3, 3)), np.asarray(0.7), np.asarray(2))
TANGENTS = tuple([RNG.normal(size=x.shape) for x in ARGS[:3]])
BATCHES = (*(RNG.normal(size=(2, *x.shape)) for x in ARGS[:3]), np.array([1, 4]))
FLOATS = (0, 1, 2)
AXES = [
    (0, 0, 0, 0),
    (None, None, None, 0),
    (0, None, None, None),
    (None, 0, None, None),
    (None, None, 0, None),
]
TOLERANCE = 1e5 * rounding("f64")  # what nested rounds may make of their rounding
Function = Callable[..., Any]
View = Callable[[Any, Function], Function]


# --- what is asked of a function ------------------------------------------------------------------


def value_and_grad(lang: Any, f: Function) -> Function:
    return lambda *x: (f(*x), grad(lang, f)(*x))


def grad(lang: Any, f: Function) -> Function:
    return lang.grad(f, FLOATS)  # type: ignore[no-any-return]


def jvp(lang: Any, f: Function) -> Function:
    """The value and the tangent in one direction; the integer has none."""
    return lambda *x: lang.jvp(lambda *y: f(*y, x[3]), x[:3], TANGENTS)


def dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum((a * b).sum() for a, b in zip(x, y, strict=True))


def forward_over_reverse(lang: Any, f: Function) -> Function:
    return jvp(lang, grad(lang, f))


def reverse_over_reverse(lang: Any, f: Function) -> Function:
    return grad(lang, lambda *x: dot(grad(lang, f)(*x), TANGENTS))


def reverse_over_forward(lang: Any, f: Function) -> Function:
    return grad(lang, lambda *x: jvp(lang, f)(*x)[1])


def batch(view: View, axes: tuple[int | None, ...]) -> View:
    """A view, for a batch along some arguments."""

    def of(lang: Any, f: Function) -> Function:
        def filled(x: Sequence[Any]) -> list[Any]:
            pairs = zip(x, BATCHES, axes, strict=True)
            return [one if axis is None else lang.xp.asarray(many) for one, many, axis in pairs]

        return lambda *x: lang.vmap(view(lang, f), in_axes=axes)(*filled(x))

    return of


def grad_of_batch(lang: Any, f: Function) -> Function:
    total = batch(lambda _, f: f, (None, None, None, 0))(lang, f)
    return grad(lang, lambda *x: lang.xp.sum(lang.xp.sin(total(*x))))


ONE: list[View] = [
    *(value_and_grad, jvp, forward_over_reverse, reverse_over_reverse, reverse_over_forward),
    grad_of_batch,
]
VIEWS = ONE * 2 + [batch(view, axes) for view in (value_and_grad, jvp) for axes in AXES]
VIEWS += [batch(batch(value_and_grad, AXES[1]), AXES[3])]


# --- the test -------------------------------------------------------------------------------------


def total(language: Any, block: Block) -> Function:
    """One number, of all that a function returns."""

    def of(*x: Any) -> Any:
        results = enumerate(block.run(language, x))
        return sum(language.xp.sum(language.xp.cos(y * (1 + k / 10))) for k, y in results)

    return of


def leaves(tree: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def check(seed: int, executor: str) -> None:
    """One view of one random function, as the seed says."""
    view = VIEWS[seed % len(VIEWS)]
    block = random_function(seed, depth=3 if seed % 4 == 0 else 2)
    ours, theirs = (view(lang, total(lang, block)) for lang in (Ours, Reference))
    with jax.enable_x64(True), jax.disable_jit():  # fewer kernels to compile
        expected = leaves(theirs(*map(jnp.asarray, ARGS)))
    results, _ = tn.transforms.flatten(tn.jit(ours, executor=executor)(*ARGS))
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        assert_close(result.numpy(), wanted, TOLERANCE, f"seed {seed}")


def check_numbers(seed: int) -> None:
    """The value of one random function, and its gradient by a difference."""
    block = random_function(seed, depth=2 + seed % 2, derivatives=False)
    f, step = total(Numbers, block), 1e-6
    ends = [
        f(*(x + sign * step * dx for x, dx in zip(ARGS, TANGENTS, strict=False)), ARGS[3])
        for sign in (1, -1)
    ]
    value, gradient = tn.jit(value_and_grad(Ours, total(Ours, block)), executor="numpy")(*ARGS)
    assert_close(value.numpy(), f(*ARGS), TOLERANCE, f"seed {seed}")
    slope = dot([g.numpy() for g in gradient], TANGENTS)
    assert_close(slope, (ends[0] - ends[1]) / (2 * step), 10 * difference("f64"), f"seed {seed}")


def test_random_loops_are_their_rounds(programs: int) -> None:
    run(programs, check_numbers)


@pytest.mark.exhaustive
def test_derivatives_and_batches_of_random_loops(programs: int) -> None:
    run(max(1, programs // 15), lambda seed: check(seed, "numpy"))


@pytest.mark.parametrize(
    "count",
    [pytest.param(40, marks=pytest.mark.exhaustive), pytest.param(200, marks=pytest.mark.large)],
)
def test_derivatives_and_batches_of_many_random_loops(count: int) -> None:
    run(count, lambda seed: check(seed, "numpy"))


def test_random_loops_on_xla_are_their_rounds(programs: int) -> None:
    run(max(1, programs // 30), lambda seed: check(seed, "xla"))


def run(count: int, check_one: Callable[[int], None]) -> None:
    silent = [HealthCheck.too_slow]
    of_seed = given(integers(0, 2**40))(check_one)
    settings(max_examples=count, suppress_health_check=silent)(of_seed)()
