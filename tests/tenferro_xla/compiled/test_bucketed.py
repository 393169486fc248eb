"""Sizes rounded up: one executable for many, the same results, or a refusal that names the op."""

from __future__ import annotations

import pickle
import random
import re
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import (
    BindingError,
    ConfigError,
    ExecutorError,
    PadSafetyError,
    ShapeError,
    UnsupportedExtensionError,
)
from tenferro.extension import apply
from tenferro.network.sliced_op import SlicedNetwork
from tenferro_xla import BucketedExecutable, XlaExecutor
from tests.ops.extension.cube import Cube

Array = np.ndarray[Any, Any]


def bucketed(**roundings: Any) -> XlaExecutor:
    return XlaExecutor(bucketing=roundings or {"n": "powers_of_two"})


def loss(w: Any, x: Any, y: Any) -> Any:
    h = tn.exp(x @ w)
    centred = h - tn.mean(h, axis=0)
    return tn.sum(centred * centred / h) / x.shape[0] + tn.max(h) + tn.sum(tn.cos(y) / y)


def arguments(n: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(3, 2)), rng.normal(size=(n, 3)), rng.uniform(1, 2, size=n)


def test_one_executable_serves_all_sizes_of_a_bucket() -> None:
    xla = bucketed()
    step = tn.jit(
        tn.value_and_grad(loss, argnums=(0, 1, 2)),
        executor=xla,
        symbolic={"x": ("n", 3), "y": ("n",)},
    )
    plain = tn.jit(tn.value_and_grad(loss, argnums=(0, 1, 2)), executor="numpy")
    for n in (1, 3, 4, 5, 6, 7, 8, 5):
        found, expected = step(*arguments(n)), plain(*arguments(n))
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-12),
            found,
            expected,
        )
    whole = [event for event in xla.explain().events if event.subject.part == "bucket"]
    assert [event.subject.sizes for event in whole] == [(("n", size),) for size in (1, 4, 8)]
    assert [event.cause for event in whole] == ["first", "sizes", "sizes"]
    assert step.trace_stats().misses == 1


def test_arrays_on_the_device_are_padded_there() -> None:
    xla = bucketed(n=(4, 16))
    program = tn.make_program(lambda x: (tn.sum(tn.cos(x)), x * 2), tn.TensorSpec(("n",)))
    for n in (0, 3, 4, 5):
        x = np.arange(float(n))
        total, twice = xla.run(program, {"x": tn.Tensor(xla.put(x))})
        np.testing.assert_allclose(total.item(), np.cos(x).sum(), atol=1e-15)
        assert twice.tolist() == (2 * x).tolist()
    (size,) = program.exec_program.symbols()
    assert isinstance(xla.compile_exec(program.exec_program, sizes={size: 3}), BucketedExecutable)


def test_arrays_on_the_host_are_padded_there() -> None:
    xla = bucketed(n=(4,))
    specs = (tn.TensorSpec(("n",)), tn.TensorSpec((), "int64"))
    program = tn.make_program(lambda x, k: tn.sum(x) * k, *specs)
    for n in (1, 2, 3):
        assert xla.run(program, {"x": np.ones(n), "k": np.array(2)})[0].item() == 2 * n
    assert xla.explain().compiled == 1


def test_a_size_over_the_largest_bucket_is_refused() -> None:
    f = tn.jit(tn.sin, executor=bucketed(n=(4, 8)), symbolic={"x": ("n",)})
    f(np.ones(8))
    with pytest.raises(BindingError, match="n is 9, more than its largest bucket 8"):
        f(np.ones(9))


@pytest.mark.parametrize("rounding", [(), (4, 2), (2, 2), (-1, 2), ("a",), (True, 2), 8, "thirds"])
def test_an_invalid_rounding_is_refused(rounding: Any) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"bucketing: 'n' is rounded to {rounding!r}")):
        XlaExecutor(bucketing={"n": rounding})
    with pytest.raises(ConfigError, match="bucketing: takes a mapping from names of sizes"):
        XlaExecutor(bucketing=rounding or 3)


def test_a_batched_contraction_with_several_batch_axes_is_rounded_up() -> None:
    executor = XlaExecutor(bucketing={"n": "powers_of_two"})
    x = np.random.default_rng(0).normal(size=(5, 2, 4, 3))

    def attention(q: Any, k: Any) -> Any:
        return tn.softmax(q @ tn.swapaxes(k, -1, -2), axis=-1)

    compiled = tn.jit(
        attention, executor=executor, symbolic={"q": ("n", 2, 4, 3), "k": ("n", 2, 4, 3)}
    )
    np.testing.assert_allclose(compiled(x, x), tn.jit(attention)(x, x), rtol=1e-12)


def test_symbols_without_buckets_and_programs_without_symbols_are_as_ever() -> None:
    xla = bucketed()
    program = tn.make_program(lambda x: tn.flip(x), tn.TensorSpec(("m",)))
    (found,) = xla.run(program, {"x": np.arange(3.0)})
    assert found.tolist() == [2.0, 1.0, 0.0]
    assert tn.jit(tn.flip, executor=xla)(np.arange(3.0)).tolist() == [2.0, 1.0, 0.0]
    assert xla.explain().events[0].subject.sizes == (("m", 3),)


CHAIN = "ij,jk,kl->il"
NETWORKS = ["ij->j", "ij,jk->ik", "ij,jk->", CHAIN, "ij,jk,ki->", "ij,jk,ki->ijk", "ij,jk,ki->i"]
CHAIN_SPECS = (tn.TensorSpec(("n", "m")), tn.TensorSpec(("m", 7)), tn.TensorSpec((7, "n")))


def chain_inputs(n: int, m: int = 3) -> list[Array]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=shape) for shape in ((n, m), (m, 7), (7, n))]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    ("subscripts", "roundings"),
    [
        *((CHAIN, {"n": "powers_of_two"}), ("ij,jk,ki->i", {"n": "powers_of_two"})),
        *((subscripts, {"n": (4, 9), "m": (1, 5)}) for subscripts in NETWORKS),
    ],
)
def test_a_network_of_named_sizes_is_planned_for_the_rounded_ones(
    subscripts: str, roundings: Any
) -> None:
    count = subscripts.count(",") + 1
    program = tn.make_program(
        lambda *xs: tn.einsum(subscripts, *[tn.exp(x) for x in xs]), *CHAIN_SPECS[:count]
    )
    xla = bucketed(**roundings)
    names = [declared.name for declared in program.inputs]
    for n in (1, 3, 4):
        values = chain_inputs(n)[:count]
        (result,) = xla.run(program, dict(zip(names, values, strict=True)))
        expected = np.einsum(subscripts, *[np.exp(value) for value in values])
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    sizes = {event.subject.sizes for event in xla.explain().events}
    assert len([bound for bound in sizes if bound]) <= (3 if len(roundings) == 1 else 1)


@pytest.mark.exhaustive
def test_the_gradient_of_a_network_of_named_sizes_is_rounded_up() -> None:
    program = tn.make_program(
        tn.value_and_grad(lambda *xs: tn.sum(tn.einsum(CHAIN, *xs) ** 2), argnums=(0, 1, 2)),
        *CHAIN_SPECS,
    )
    names = [declared.name for declared in program.inputs]
    for n in (3, 4, 5):
        values = dict(zip(names, chain_inputs(n), strict=True))
        results, expected = (xla.run(program, values) for xla in (bucketed(), XlaExecutor()))
        for result, reference in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, reference, rtol=1e-11, atol=1e-12)


def test_a_network_whose_sizes_may_differ_is_refused_by_its_family() -> None:
    specs = (tn.TensorSpec(("n", "k")), tn.TensorSpec(("l", 5)))
    message = (
        "bucketing: tenferro-einsum.einsum.v1: n cannot be rounded up: it is lowered for constant "
        "sizes only; leave n out of the buckets"
    )
    for optimize in (True, [(0, 1)]):
        program = tn.make_program(
            lambda x, y, path=optimize: tn.einsum("ij,jk->ik", x, y, optimize=path), *specs
        )
        values = {"x": np.ones((3, 4)), "y": np.ones((4, 5))}
        assert XlaExecutor().run(program, values)[0].tolist() == [[4.0] * 5] * 3
        with pytest.raises(PadSafetyError, match=re.escape(message)):
            bucketed().run(program, values)


def test_a_family_that_is_lowered_for_constant_sizes_only_is_refused_by_name() -> None:
    op = SlicedNetwork(((0, 1), (1, 2), (2, 3)), (0, 3), ((0, 1), (2, 3)), (1,))
    program = tn.make_program(lambda *xs: apply(op, *xs), *CHAIN_SPECS)
    names = [declared.name for declared in program.inputs]
    with pytest.raises(PadSafetyError, match=r"sliced.*: n cannot be rounded up: it is low"):
        bucketed().run(program, dict(zip(names, chain_inputs(3), strict=True)))


def test_a_family_that_is_not_lowered_for_any_sizes_asks_for_its_package() -> None:
    program = tn.make_program(lambda x: tn.sum(apply(Cube(0.5), x)), tn.TensorSpec(("n",)))
    with pytest.raises(UnsupportedExtensionError, match="a package that has one, packages="):
        bucketed().run(program, {"x": np.ones(3)})


REFUSED = {
    "reverse": lambda x: tn.flip(x, axis=0),
    "sort": lambda x: tn.sort(x, axis=0),
    "argmax": lambda x: tn.argmax(x, axis=0),
    "concatenate": lambda x: tn.sum(tn.concat([x, x])),
    "slice": lambda x: tn.sum(x[1:]),
    "pad": lambda x: tn.sum(tn.pad(x, ((1, 0), (0, 0)))),
    "reshape": lambda x: tn.sum(tn.reshape(x, (-1,))),
    "dynamic_truncate": lambda x: tn.dynamic_truncate(x, tn.sum(x)),
    "gather": lambda x: x[np.array([0, 0])],
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_op_that_would_see_padding_is_refused_by_name(name: str) -> None:
    f = tn.jit(REFUSED[name], executor=bucketed(), symbolic={"x": ("n", 2)})
    with pytest.raises(PadSafetyError, match=rf"bucketing: {name}: n cannot be rounded up: ") as at:
        f(np.ones((3, 2)))
    assert (at.value.primitive, at.value.symbol) == (name, "n")
    assert isinstance(at.value, ExecutorError)
    assert str(pickle.loads(pickle.dumps(at.value))) == str(at.value)


def test_a_cut_that_follows_the_operand_s_size_is_refused() -> None:
    last = """exec_program(%0: f64[n]) {
      %1: f64[1] = slice[starts=(dim(0, 0) - 1,), limits=(dim(0, 0),), strides=(1,)] %0!
      return %1
    }"""
    program = parse(last)
    (size,) = program.symbols()
    with pytest.raises(PadSafetyError, match="bucketing: slice: n cannot be rounded up"):
        bucketed().compile_exec(program, sizes={size: 3})


def test_rows_are_looked_up_and_summed_at_true_indices_only() -> None:
    def lookup(table: Any, i: Any) -> Any:
        return tn.sum(tn.exp(table[i]) * 2) + tn.sum(table)

    symbolic = {"i": ("n",)}
    table = np.random.default_rng(0).normal(size=(5, 3))
    f = tn.jit(tn.value_and_grad(lookup), executor=bucketed(), symbolic=symbolic)
    g = tn.jit(tn.value_and_grad(lookup), executor="numpy", symbolic=symbolic)
    for i in ([4], [1, 1, 3], [2, 0, 2, 2, 4]):
        assert_close(f(table, np.array(i)), g(table, np.array(i)))
    with pytest.raises(PadSafetyError, match="gather: n cannot be rounded up: it indexes into"):
        tn.jit(lookup, executor=bucketed(), symbolic={"table": ("n", 3)})(table, np.array([1]))
    assigned = tn.jit(lambda x, i: x.at[i].set(1.0), executor=bucketed(), symbolic={"i": ("n",)})
    with pytest.raises(PadSafetyError, match=r"scatter: n .* padded indices would decide where"):
        assigned(np.zeros(5), np.array([1, 2]))


def test_an_input_whose_size_is_computed_from_a_bucketed_one_is_refused() -> None:
    f = tn.jit(
        lambda x, y: tn.sum(x) + tn.sum(y),
        executor=bucketed(),
        symbolic={"x": ("n",), "y": ("2*n",)},
    )
    with pytest.raises(PadSafetyError, match=re.escape("input: n cannot be rounded up: axis 0 of")):
        f(np.ones(2), np.ones(4))


def test_what_the_true_size_does_not_fit_is_refused_though_the_bucket_would_fit() -> None:
    program = tn.make_program(lambda x: tn.max(x, axis=0), tn.TensorSpec(("n", 2)))
    with pytest.raises(ShapeError, match="reduce_max"):
        bucketed().run(program, {"x": np.ones((0, 2))})


def test_wrong_buffers_are_refused() -> None:
    xla = bucketed()
    program = tn.make_program(lambda x: tn.sum(x), tn.TensorSpec(("n",))).exec_program
    (size,) = program.symbols()
    run = xla.compile_exec(program, sizes={size: 3})
    for wrong in (np.ones(4), np.ones(3, np.float32)):
        with pytest.raises(BindingError, match=re.escape("run: input 0 is f64[3], but is given f")):
            run(xla.put(wrong))
    with pytest.raises(BindingError, match="takes 1 input, got 0"):
        run.run_host()


SAFE = {
    "elementwise": lambda x, y: tn.where(x > y, tn.log(x), tn.sqrt(y)) + 1 / x,
    "products": lambda x, y: (tn.exp(x).T @ (1 / y), x @ y.T, tn.outer(x[:, 0], y[:, 1])),
    "sums": lambda x, y: (tn.sum(1 / x), tn.sum(1 / x, axis=0), tn.sum(tn.exp(y), axis=1)),
    "reductions": lambda x, y: (
        tn.prod(tn.exp(x), axis=0),
        tn.max(-tn.exp(x), axis=0),
        tn.min(tn.exp(y)),
        tn.all(x > 0),
        tn.any(y > 9, axis=0),
        tn.max(tn.astype(-x - 5, "int32"), axis=0),
    ),
    "shapes": lambda x, y: (
        x.T,
        tn.reshape(x, (x.shape[0], 1, 2)),
        tn.concat([x, y], axis=1),
        tn.expand_dims(x, 0) * y,
        tn.broadcast_to(x[:, :1], (x.shape[0], 4)),
        tn.flip(x, axis=1),
    ),
    "squares": lambda x, y: (
        tn.diagonal(tn.exp(x) @ y.T),
        tn.sum(tn.tril(tn.exp(x @ y.T))),
        tn.trace(x @ y.T) if hasattr(tn, "trace") else tn.sum(tn.diagonal(x @ y.T)),
    ),
    "scans": lambda x, y: (
        tn.cumulative_sum(tn.exp(x), axis=0),
        tn.cumulative_prod(1 / y, axis=0),
        tn.lax.shape_of(x, axis=0),
        tn.mean(x) * x.shape[0],
    ),
    "places": lambda x, y: (
        x[:, np.array([1, 0])],
        tn.vmap(lambda k: tn.exp(x)[:, k])(np.array([1, 1, 0])),
        tn.sum(x.at[:, np.array([0])].set(1.0) * y.at[:, np.array([1, 1])].add(x)),
        tn.grad(lambda x: tn.sum(tn.exp(x[:, np.array([1, 1])]) ** 2))(x),
    ),
    "gradients": tn.grad(
        lambda x, y: tn.sum(tn.cumulative_sum(x / y, axis=0)) + tn.prod(x[:, 0]) + tn.max(y),
        argnums=(0, 1),
    ),
    "variances": tn.grad(
        lambda x, y: tn.sum((x - tn.mean(x, axis=0)) ** 2 / tn.sum(y * y, axis=0)),
        argnums=(0, 1),
    ),
}


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", SAFE)
def test_results_are_those_of_the_true_size(name: str) -> None:
    symbolic = {"x": ("n", 2), "y": ("n", 2)}
    f = tn.jit(SAFE[name], executor=bucketed(), symbolic=symbolic)
    g = tn.jit(SAFE[name], executor="numpy", symbolic=symbolic)
    for n in (1, 3):
        rng = np.random.default_rng(n)
        x, y = rng.uniform(0.5, 2, size=(n, 2)), rng.uniform(0.5, 2, size=(n, 2))
        assert_close(f(x, y), g(x, y))


def assert_close(found: Any, expected: Any) -> None:
    one, other = jax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(one) == len(other) > 0
    for left, right in zip(one, other, strict=True):
        assert (left.shape, left.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_give_the_same_or_are_refused(seed: int) -> None:
    rng = random.Random(seed)
    accepted = 0
    for _ in range(3):
        function = random_function(rng)
        symbolic = {"x": ("n", 2), "y": ("n", 2)}
        f = tn.jit(function, executor=bucketed(), symbolic=symbolic)
        x, y = (np.random.default_rng(k).uniform(0.5, 2, size=(5, 2)) for k in range(2))
        try:
            found = f(x, y)
        except PadSafetyError:
            continue
        accepted += 1
        assert_close(found, tn.jit(function, executor="numpy", symbolic=symbolic)(x, y))
    assert accepted


def random_function(rng: random.Random) -> Any:
    """A function whose padding would be infinite or no number soon, were it read."""
    moves: list[Any] = [
        lambda a, b: tn.log(a * a) - b,
        lambda a, b: a / b,
        lambda a, b: tn.exp(-a) + tn.mean(b, axis=0),
        lambda a, b: tn.tanh(a @ (tn.exp(b).T @ a) / a.shape[0] ** 2),
        lambda a, b: a - tn.max(b, axis=0),
        lambda a, b: tn.concat([a[:, 1:], b[:, :1]], axis=1),
        lambda a, b: tn.where(a > b, 1 / a, b),
        lambda a, b: tn.cumulative_sum(a, axis=0) / a.shape[0] + tn.sum(b),
        lambda a, b: tn.tanh(tn.triu(a @ b.T) @ a),
        lambda a, b: tn.flip(a, axis=0) + b,
    ]
    chosen = [(rng.choice(moves), rng.random() < 0.5) for _ in range(5)]

    def function(x: Any, y: Any) -> Any:
        a, b = x, y
        for move, swap in chosen:
            a, b = (move(b, a), a) if swap else (move(a, b), b)
        return a, tn.sum(tn.tanh(b), axis=0)

    return function
