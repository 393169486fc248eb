"""checkpoints=: reverse mode stores less, and gives what it gives without."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ControlFlowError
from tenferro.ops.control_flow import Scan

RNG = np.random.default_rng(5)
W, H = RNG.normal(size=(3, 3)) / 2, RNG.normal(size=3)
XS = RNG.normal(size=(23, 3)) / 2


def loss(w: Any, h: Any, xs: Any, reverse: bool = False, checkpoints: int | None = None) -> Any:
    last, ys = tn.scan(
        lambda h, x: (tn.tanh(w @ h + x), tn.sum(tn.sin(h) * x)),
        h,
        xs,
        reverse=reverse,
        checkpoints=checkpoints,
    )
    return tn.sum(last) + tn.sum(ys * ys)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_derivatives_are_those_without_checkpoints(levels: int, reverse: bool) -> None:
    def of(checkpoints: int | None) -> Any:
        def function(w: Any, h: Any, xs: Any) -> Any:
            return loss(w, h, xs, reverse, checkpoints)

        gradient = tn.grad(function, (0, 1, 2))
        second = tn.grad(lambda *args: tn.sum(gradient(*args)[0] ** 2), (0, 1, 2))
        tangents = tn.jvp(function, (W, H, XS), (W, H, XS))
        batch = tn.vmap(gradient, (None, 0, None))(W, np.stack([H, 2 * H]), XS)
        return [*gradient(W, H, XS), *second(W, H, XS), *tangents, *batch]

    for ours, plain in zip(of(levels), of(None), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(plain), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rounds", [0, 1, 2, 4])
def test_few_rounds(rounds: int) -> None:
    for levels in (1, 2, 3):
        ours = tn.grad(lambda w, k=levels: loss(w, H, XS[:rounds], checkpoints=k))(W)
        plain = tn.grad(lambda w: loss(w, H, XS[:rounds]))(W)
        np.testing.assert_allclose(np.asarray(ours), np.asarray(plain), rtol=1e-12)


def longest_stack(levels: int | None, rounds: int) -> int:
    """The largest number of entries that a loop of the gradient writes."""
    spec = tn.TensorSpec((rounds, 3), "float64")
    program = tn.make_program(
        lambda xs: tn.grad(lambda w: loss(w, H, xs, checkpoints=levels))(W), spec
    ).exec_program
    return max(
        meta.extents[0].dim * (meta.extents[1].dim if meta.rank > 2 else 1)
        for each in program.walk()
        for step in each.steps_of(Scan)
        for meta in step.output_metas[step.op.carry :]
        if meta.rank > 1
    )


def test_two_levels_store_a_square_root() -> None:
    assert longest_stack(None, 400) == 400
    assert longest_stack(1, 400) == 400
    assert longest_stack(2, 400) == 20
    assert longest_stack(3, 1000) == 10


def bumps(x: Any, rounds: int, checkpoints: int | None = None) -> Any:
    """The sum after a loop whose iterations take few operations for each value they store."""

    def step(x: Any, _: Any) -> Any:
        for number in range(4):
            x = (x + 0.1 * number) / (1 + x * x)
        return x, None

    return tn.sum(tn.scan(step, x, length=rounds, checkpoints=checkpoints)[0])


def stored(function: Any, size: int, rounds: int) -> int:
    """How many values of an iteration the gradient of a loop stores."""
    spec = tn.TensorSpec((size,), "float64")
    program = tn.make_program(tn.grad(lambda x: function(x, rounds)), spec).exec_program
    forward, _ = program.ops_of(Scan)
    return forward.n_outputs - forward.carry


def test_iterations_are_computed_again_where_their_values_do_not_fit_a_cache() -> None:
    assert stored(bumps, 1000, 20) > 2
    assert stored(bumps, 1000, 2000) == 1
    assert stored(bumps, 100_000, 20) == 1


def test_iterations_that_take_long_are_not_computed_again() -> None:
    def powers(x: Any, rounds: int) -> Any:
        step = lambda x, _: (tn.sqrt(x**1.3 + x**1.7), None)  # noqa: E731
        return tn.sum(tn.scan(step, x, length=rounds)[0])

    def products(x: Any, rounds: int) -> Any:
        w = tn.eye(100) * 0.9
        step = lambda x, _: (tn.sin(w @ tn.cos(w @ x)), None)  # noqa: E731
        return tn.sum(tn.scan(step, x, length=rounds)[0])

    assert stored(powers, 1000, 2000) > 1
    assert stored(products, 100, 20_000) > 1


def test_a_loop_of_unknown_length_stores_all() -> None:
    spec = tn.TensorSpec(("n", 100_000), "float64")

    def loss(xs: Any) -> Any:
        def step(x: Any, y: Any) -> Any:
            for _ in range(4):
                x = (x + y) / (1 + x * x)
            return x, None

        return tn.sum(tn.scan(step, xs[0], xs)[0])

    forward, _ = tn.make_program(tn.grad(loss), spec).exec_program.ops_of(Scan)
    assert forward.n_outputs - forward.carry > 2


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_derivatives_are_those_where_iterations_are_computed_again(executor: str) -> None:
    x, dx = RNG.uniform(0.1, 1, (2, 20_000))

    def of(checkpoints: int | None) -> Any:
        def function(x: Any) -> Any:
            return bumps(x, 30, checkpoints)

        def all_of(x: Any, dx: Any) -> Any:
            gradient, product = tn.jvp(tn.grad(function), (x,), (dx,))
            twice = tn.grad(lambda x: tn.sum(tn.grad(function)(x) ** 2))(x)
            return gradient, product, twice, tn.jvp(function, (x,), (dx,))[1]

        return tn.jit(all_of, executor=executor)(x, dx)

    for ours, plain in zip(of(None), of(2), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(plain), rtol=1e-9, atol=1e-12)


def test_a_while_loop_on_three_levels() -> None:
    def of(**options: Any) -> Any:
        def function(h: Any) -> Any:
            go_on = lambda s: tn.sum(s * s) > 0.05  # noqa: E731
            return tn.sum(
                tn.while_loop(go_on, lambda s: tn.tanh(W @ s), h, max_steps=40, **options)
            )

        return np.asarray(tn.grad(function)(H))

    for levels in (1, 3):
        np.testing.assert_allclose(of(checkpoints=levels), of(), rtol=1e-12)


def test_refusals() -> None:
    with pytest.raises(
        ControlFlowError, match="checkpoints must be a positive integer or None, got 0"
    ):
        loss(W, H, XS, checkpoints=0)
    for wrong in ("all", None):
        text = f"while_loop: checkpoints must be a positive integer, got {wrong!r}"
        with pytest.raises(ControlFlowError, match=text):
            tn.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, 0.0, checkpoints=wrong)
    spec = tn.TensorSpec(("n", 3), "float64")
    with pytest.raises(ControlFlowError, match="known number of rounds, but the loop has n"):
        tn.make_program(lambda xs: loss(W, H, xs, checkpoints=2), spec)
