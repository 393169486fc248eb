"""Jacobians by one batched pass, or a loop over chunks of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, DTypeError, ExtentError

RNG = np.random.default_rng(5)
W = RNG.normal(size=(4, 3))
ARGS = {"a": RNG.normal(size=3), "b": [RNG.normal(size=(2, 2)), np.zeros((0, 2))], "c": 0.7}
jit = partial(tn.jit, executor="numpy")


def results(p: Any) -> Any:
    """A vector, a matrix, two scalars, an empty array, and a constant."""
    x = tn.tanh(W @ p["a"]) * p["c"]
    return {
        "vector": x,
        "matrix": p["b"][0] @ p["b"][0] * x[0],
        "rest": (tn.sum(x), tn.max(x), p["b"][1] * p["c"], tn.asarray([1.0, 2.0])),
    }


def energy(p: Any) -> Any:
    return tn.sum(tn.cos(W @ p["a"]) ** 2) * p["c"] + tn.sum(p["b"][0] ** 3)


def leaves(tree: Any) -> list[np.ndarray[Any, Any]]:
    found = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, dict | list | tuple):
        return [leaf for each in found for leaf in leaves(each)]
    return [np.asarray(tree)]


def check_same(one: Any, other: Any) -> None:
    for mine, theirs in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def differences(function: Any, direction: Any) -> list[np.ndarray[Any, Any]]:
    """The tangents of the results at `ARGS`."""
    return leaves(tn.jvp(function, (ARGS,), (direction,))[1])


def test_each_entry_is_a_tangent_of_a_result() -> None:
    jacobian = tn.jacfwd(results)(ARGS)
    direction = {"a": np.eye(3)[1], "b": [np.zeros((2, 2)), np.zeros((0, 2))], "c": 0.0}
    rows = [jacobian["matrix"], *jacobian["rest"], jacobian["vector"]]  # keys are sorted
    columns = [each["a"][..., 1] for each in rows]
    check_same(columns, differences(results, direction))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 8, 100])
def test_chunks_give_the_same(chunk_size: int) -> None:
    whole = tn.jacfwd(results)(ARGS)
    for transform in (tn.jacfwd, tn.jacrev):
        check_same(transform(results, chunk_size=chunk_size)(ARGS), whole)
    check_same(tn.hessian(energy, chunk_size=chunk_size)(ARGS), tn.hessian(energy)(ARGS))


def test_jacobians_by_forward_and_by_reverse_mode_agree_compiled() -> None:
    whole = jit(tn.jacfwd(results))(ARGS)
    check_same(jit(tn.jacrev(results))(ARGS), whole)
    check_same(jit(tn.jacrev(results, chunk_size=2))(ARGS), whole)


def test_holomorphic_jacobians_in_chunks() -> None:
    z = RNG.normal(size=3) + 1j * RNG.normal(size=3)
    for transform in (tn.jacfwd, tn.jacrev):
        check_same(transform(lambda z: W @ z**2, holomorphic=True, chunk_size=2)(z), W * (2 * z))


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_holomorphic_functions_have_complex_arguments_and_results(name: str) -> None:
    transform, x = getattr(tn, name), RNG.normal(size=3)
    with pytest.raises(DTypeError, match=f"{name}: holomorphic=True needs complex arguments"):
        transform(lambda x: x * (1 + 2j), holomorphic=True)(x)
    for f in (tn.abs, lambda z: tn.argmax(tn.real(z))):
        with pytest.raises(DTypeError, match=f"{name}: holomorphic=True needs complex results"):
            transform(f, holomorphic=True)(x * 1j)


def test_forward_mode_takes_complex_results_of_real_arguments_and_integers() -> None:
    x = RNG.normal(size=3)
    check_same(tn.jacfwd(lambda x: x * (1 + 2j))(x), (1 + 2j) * np.eye(3))
    zeros = tn.jacfwd(tn.argmax)(x)
    assert zeros.dtype == np.int64
    assert not zeros.numpy().any()


@pytest.mark.parametrize("chunk_size", [None, 3])
@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_the_size_of_the_program_does_not_depend_on_the_number_of_elements(
    name: str, chunk_size: int | None
) -> None:
    def f(x: Any) -> Any:
        y = tn.tanh(x * tn.flip(x)) * x
        return tn.sum(y) if name == "hessian" else y

    transform = getattr(tn, name)(f, chunk_size=chunk_size)
    sizes = (256, 512, 1024) if name == "hessian" else (16, 64, 256)  # small ones are not coloured
    counts = [len(tn.make_program(transform, np.ones(n)).exec_program.instructions) for n in sizes]
    assert len(set(counts)) == 1, counts


def test_the_identity_is_not_multiplied() -> None:
    def f(x: Any) -> Any:
        return tn.tanh(W.T @ tn.tanh(W @ tn.sin(x)))

    x = ARGS["a"]
    programs = [tn.make_program(transform(f), x) for transform in (tn.jacfwd, tn.jacrev)]
    for program in programs:
        steps = program.exec_program.instructions
        square = [s for s in steps if s.op.name == "dot_general" and s.output_metas[0].rank == 2]
        assert (len(square), "iota" in str(program)) == (1, False)
    check_same(tn.jacfwd(f)(x), tn.jacrev(f, chunk_size=1)(x))
    coefficients = np.array([1.0, np.inf, 2.0])
    for transform in (tn.jacfwd, tn.jacrev):
        jacobian = transform(lambda x: np.ones((2, 3)) @ (coefficients * x))(x)
        check_same(jacobian, np.stack([coefficients, coefficients]))


def test_chunks_inside_of_other_transforms() -> None:
    x = RNG.normal(size=3)
    whole = tn.hessian(lambda x: tn.sum(tn.sin(W @ x)))
    parts = tn.hessian(lambda x: tn.sum(tn.sin(W @ x)), chunk_size=2)
    check_same(
        tn.grad(lambda x: tn.sum(parts(x) ** 2))(x), tn.grad(lambda x: tn.sum(whole(x) ** 2))(x)
    )
    xs = RNG.normal(size=(4, 3))
    check_same(tn.vmap(whole)(xs), np.stack([np.asarray(whole(x)) for x in xs]))


def test_a_function_of_nothing_or_to_nothing() -> None:
    empty = np.zeros((0,))
    for transform in (tn.jacfwd, tn.jacrev, tn.jacobian):
        for chunk_size in (None, 2):
            jacobian = partial(transform, chunk_size=chunk_size)
            assert jacobian(lambda x: tn.sum(x) + W)(empty).shape == (4, 3, 0)
            assert jacobian(lambda x: x[:0] * 2)(W).shape == (0, 3, 4, 3)
            check_same(jacobian(lambda x: tn.asarray(W))(ARGS["a"]), np.zeros((4, 3, 3)))
            assert jacobian(lambda x: x * x, argnums=())(W) == ()


@pytest.mark.parametrize("chunk_size", [0, -1, 1.5, True, "2"])
@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
def test_a_chunk_size_is_a_positive_integer(name: str, chunk_size: Any) -> None:
    expected = f"{name}: chunk_size must be a positive integer or None, got {chunk_size!r}"
    with pytest.raises(ADError) as caught:
        getattr(tn, name)(lambda x: x, chunk_size=chunk_size)
    assert str(caught.value) == expected


def test_a_pullback_of_a_batch() -> None:
    _, pullback = tn.vjp(lambda x: tn.tanh(W @ x), ARGS["a"])
    _, pushforward = tn.linearize(lambda x: tn.tanh(W @ x), ARGS["a"])
    (rows,) = tn.vmap(pullback)(np.eye(4))
    columns = tn.vmap(pushforward, out_axes=1)(np.eye(3))
    check_same(rows, tn.jacrev(lambda x: tn.tanh(W @ x))(ARGS["a"]))
    check_same(rows, columns)


def test_many_directions_are_one_pass() -> None:
    ctx, x = tn.AdContext(), tn.TracedTensor.input((3,), "float64", "x")
    y, z = tn.tanh(W @ x), tn.sum(x * x)
    directions = RNG.normal(size=(5, 3))
    many = ctx.jvp_many([y, z], [x], [[direction] for direction in directions])
    program = tn.GraphCompiler().compile([value for row in many for value in row])
    slopes = [step for step in program.exec_program.instructions if step.op.name == "sech_squared"]
    assert len(slopes) == 1
    dots = [step for step in program.exec_program.instructions if "dot" in step.op.name]
    assert len(dots) <= 3
    got = tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": ARGS["a"]})
    jacobian = np.asarray(tn.jacfwd(lambda x: tn.tanh(W @ x))(ARGS["a"]))
    check_same(list(got[::2]), list(directions @ jacobian.T))
    check_same(list(got[1::2]), list(2 * directions @ ARGS["a"]))


def test_many_directions_of_eager_values_are_recorded() -> None:
    rt = tn.EagerRuntime()
    x, y = rt.variable(ARGS["a"]), rt.variable(2.0)
    z = tn.sum(tn.sin(x) ** 2) * y
    directions = [[np.eye(3)[0], None], [np.eye(3)[1], 1.0], [None, None]]
    rows = rt.jvp_many([z, y], [x, y], directions)
    expected = [rt.jvp([z, y], [x, y], direction) for direction in directions]
    check_same([[value.numpy() for value in row] for row in rows],
               [[value.numpy() for value in row] for row in expected])  # fmt: skip
    (second,) = rt.grad(rows[0][0], [x])
    check_same(second.numpy(), 4 * np.cos(2 * ARGS["a"]) * np.eye(3)[0])


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "hessian"])
@pytest.mark.parametrize("chunk_size", [None, 64])
def test_a_result_that_no_memory_holds_is_refused_before_anything_runs(
    name: str, chunk_size: int | None
) -> None:
    def function(x: tn.AnyTensor) -> tn.AnyTensor:
        return tn.sum(x * x) if name == "hessian" else x * x

    dense = getattr(tn, name)(function, chunk_size=chunk_size)
    text = rf"{name}: the result f64\[2097152,2097152\] takes 35184372088832 bytes, more than the "
    with pytest.raises(ExtentError, match=text + "budget .* chunk_size= saves memory on the way"):
        dense(np.ones(2**21))
