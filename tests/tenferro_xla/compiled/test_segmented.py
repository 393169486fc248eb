"""Programs in which data decide sizes, on XLA: cut into segments, compiled as sizes are met."""

from __future__ import annotations

import random
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.core import Capacity
from tenferro.errors import (
    BindingError,
    DTypeError,
    ExecutorError,
    ExtentError,
    RuntimeSizeError,
    ShapeError,
    UnsupportedDynamicShapeError,
)
from tenferro.runtime import GraphExecutor, NumpyBackend
from tenferro_xla import SegmentedExecutable, XlaExecutor, to_jax
from tests.in_jax import in_jax

Array = np.ndarray[Any, Any]
SYMBOLIC = {"s": ("n",), "u": ("m", "n"), "v": ("n", "p")}


@pytest.fixture
def xla() -> XlaExecutor:
    return XlaExecutor()


def truncated(s: Any, u: Any, v: Any) -> Any:
    """The energy of a matrix product of which as much is kept as has large scores."""
    k = tn.sum(tn.where(s > 0.5, 1, 0))
    kept = tn.dynamic_truncate(s, k)
    product = (tn.dynamic_truncate(u, k, axis=1) * kept) @ tn.dynamic_truncate(v, k)
    return tn.sum(product * product)


def with_concrete_size(s: Any, u: Any, v: Any, k: int) -> Any:
    return jnp.sum(((u[:, :k] * s[:k]) @ v[:k]) ** 2)


def scored(k: int, n: int = 6) -> tuple[Array, Array, Array]:
    """Arguments of which k scores are large."""
    rng = np.random.default_rng(k)
    scores = np.sort(rng.uniform(0, 0.5, n) + 0.5 * (np.arange(n) >= n - k))[::-1]
    return scores.copy(), rng.normal(size=(4, n)), rng.normal(size=(n, 5))


def test_one_program_truncates_to_what_data_say_and_agrees_with_jax(xla: XlaExecutor) -> None:
    traces: list[None] = []

    def counted(s: Any, u: Any, v: Any) -> Any:
        traces.append(None)
        return truncated(s, u, v)

    step = tn.jit(tn.value_and_grad(counted, argnums=(0, 1, 2)), executor=xla, symbolic=SYMBOLIC)
    concrete = jax.value_and_grad(with_concrete_size, argnums=(0, 1, 2))
    for n, k in [(6, 3), (6, 1), (6, 0), (9, 4)]:
        found = jax.tree.map(np.asarray, step(*scored(k, n)))
        reference = in_jax(lambda *args, k=k: concrete(*args, k), *scored(k, n))
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13),
            found,
            reference,
        )
    assert (len(traces), step.trace_stats().misses) == (1, 1)
    compiled = xla.explain().compiled
    assert compiled == 2 + 4  # the scores once for each n, the rest for each size kept
    step(*scored(4, 9))
    assert xla.explain().compiled == compiled
    assert "f64[m,<=n]" in str(step.program(*scored(2)))


def test_the_log_says_which_scalar_changed(xla: XlaExecutor) -> None:
    f = tn.jit(truncated, executor=xla)
    for k in (2, 5):
        f(*scored(k))
    first, second, third = xla.explain().events
    assert [each.subject.part for each in (first, second, third)] == ["segment"] * 3
    assert re.search(r"segment 1/.*%\d+ from 2 to 5$", str(third))
    assert second.cause == "first"


def executable_of(program: tn.GraphProgram, xla: XlaExecutor, *args: Any) -> SegmentedExecutable:
    names = [declared.name for declared in program.inputs]
    sizes = {
        leaf: size
        for declared, arg in zip(program.inputs, args, strict=True)
        for leaf, size in zip(declared.meta.exact_shape(), arg.shape, strict=True)
        if not isinstance(leaf, int)
    }
    assert len(names) == len(args)
    bound = {next(iter(dim.leaves())): size for dim, size in sizes.items()}
    found = xla.compile_exec(program.exec_program, sizes=bound)
    assert isinstance(found, SegmentedExecutable)
    return found


def test_only_the_scalar_leaves_the_device(xla: XlaExecutor, monkeypatch: Any) -> None:
    specs = [tn.TensorSpec(SYMBOLIC[name]) for name in "suv"]
    program = tn.make_program(truncated, *specs)
    run = executable_of(program, xla, *scored(3))
    buffers = [xla.put(arg) for arg in scored(3)]
    run(*buffers)
    fetched: list[tuple[int, ...]] = []
    asarray = np.asarray

    def watched(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, jax.Array):
            fetched.append(value.shape)
        return asarray(value, *args, **kwargs)

    monkeypatch.setattr("tenferro_xla.compiled.derived_executables.np.asarray", watched)
    (result,) = run(*buffers)
    monkeypatch.undo()
    assert fetched == [()]
    assert run.downloaded == 2
    assert isinstance(result, jax.Array)


def test_sizes_that_are_inputs_need_no_segment_of_their_own(xla: XlaExecutor) -> None:
    program = tn.make_program(
        lambda x, k: tn.sum(tn.dynamic_truncate(tn.sin(x), k)),
        tn.TensorSpec((5,)),
        tn.TensorSpec((), "int64"),
    )
    assert len(xla.segments(program).segments) == 1
    for k in (2, 4, 9, -1):
        for given in (np.asarray(k), xla.put(np.asarray(k))):
            (found,) = xla.run(program, {"x": np.ones(5), "k": given})
            np.testing.assert_allclose(found.item(), min(max(k, 0), 5) * np.sin(1))


def test_sizes_that_follow_from_shapes_are_computed_on_the_host(xla: XlaExecutor) -> None:
    def halves(x: Any) -> Any:
        left = tn.dynamic_truncate(x, tn.sum(tn.where(x > 0, 1, 0)))
        return tn.dynamic_truncate(left, (tn.shape_of(left) + 1) // 2), tn.shape_of(left) * 2

    program = tn.make_program(halves, tn.TensorSpec(("n",)))
    assert len(xla.segments(program, {"x": np.ones(3)}).segments) == 2
    for n in (4, 7):
        x = np.arange(n) - 2.0
        half, twice = xla.run(program, {"x": -x})
        assert (half.tolist(), twice.item()) == ([2.0], 4)
    assert (half.shape, half.dtype) == ((1,), np.float64)


def test_a_truncation_may_decide_another(xla: XlaExecutor) -> None:
    def chained(x: Any) -> Any:
        first = tn.dynamic_truncate(x, tn.sum(x))
        second = tn.dynamic_truncate(first, tn.sum(first) / 2)
        return tn.pad_to_match(second, x), tn.sum(second)

    program = tn.make_program(chained, tn.TensorSpec((6,)))
    assert len(xla.segments(program).segments) == 3
    x = np.array([1.0, 1.5, 0.25, 1.0, 0.0, 0.5])
    numpy = GraphExecutor(NumpyBackend())
    for scale in (1.0, 0.5, 0.0):
        for found, expected in zip(
            xla.run(program, {"x": x * scale}), numpy.run(program, {"x": x * scale}), strict=True
        ):
            assert found.tolist() == expected.tolist()


def test_the_plan_is_text(xla: XlaExecutor) -> None:
    program = tn.make_program(
        lambda x: (tn.dynamic_truncate(x, tn.sum(x)) * 2.0, tn.cos(x)), tn.TensorSpec((3,))
    )
    lines = [re.sub("  #.*", "", line) for line in str(xla.segments(program)).splitlines()]
    assert [line for line in lines if line.startswith("segment")] == [
        "segment 0: %0 -> %1, %6",
        "segment 1: %0 -> %5; to the host first: %1",
    ]
    assert "  %2: f64[<=3] = dynamic_truncate[axis=0] %0, %1!" in lines


def test_windows_of_runtime_size_are_gathered_and_scattered(xla: XlaExecutor) -> None:
    def rows(x: Any, i: Any, k: Any) -> Any:
        return tn.sum(tn.sin(tn.dynamic_truncate(x, k + 1, axis=1)[i]))

    x, i = np.random.default_rng(0).normal(size=(5, 4)), np.array([3, 0, 3])
    step = tn.jit(tn.value_and_grad(rows), executor=xla)
    assert "gather_dynamic_slice_sizes" in str(step.program(x, i, np.asarray(1)))
    for k in (0, 2, 9):
        value, gradient = step(x, i, np.asarray(k))
        kept = min(k + 1, 4)
        np.testing.assert_allclose(value.item(), np.sin(x[i, :kept]).sum())
        expected = np.zeros_like(x)
        np.add.at(expected, (i, slice(kept)), np.cos(x[i, :kept]))
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-13)


def test_single_ops_of_runtime_sizes_run_on_the_device(xla: XlaExecutor) -> None:
    x = tn.Tensor(np.arange(5.0)).to_device(xla)
    assert tn.dynamic_truncate(x, tn.Tensor(2.5).to_device(xla)).tolist() == [0.0, 1.0, 2.0]
    assert tn.pad_to_match(x[:2], x).tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert tn.shape_of(x).item() == 5


def test_a_symbol_without_a_size_is_refused(xla: XlaExecutor) -> None:
    program = tn.make_program(lambda x: tn.dynamic_truncate(x, tn.sum(x)), tn.TensorSpec(("n",)))
    with pytest.raises(UnsupportedDynamicShapeError, match=r"input: shape\[0\] must be exact"):
        xla.compile_exec(program.exec_program)


@pytest.mark.parametrize("size", [float("nan"), float("inf"), -float("inf")])
def test_a_size_that_is_no_number_is_refused(xla: XlaExecutor, size: float) -> None:
    f = tn.jit(lambda x, k: tn.dynamic_truncate(x, tn.exp(k)), executor=xla)
    assert f(np.ones(5), np.asarray(1.0)).shape == (3,)
    with pytest.raises(RuntimeSizeError, match=r"dynamic_truncate: the size is (nan|inf)"):
        f(np.ones(5), np.asarray(abs(size)))


def test_a_size_of_a_wrong_type_is_refused_while_tracing(xla: XlaExecutor) -> None:
    f = tn.jit(lambda x, k: tn.dynamic_truncate(x, k), executor=xla)
    with pytest.raises(ShapeError, match=r"the size must be a scalar, got i64\[1\]"):
        f(np.ones(5), np.ones(1, int))
    with pytest.raises(DTypeError, match=r"the size must be an integer or real, got c128\[\]"):
        f(np.ones(5), np.asarray(1j))


def test_what_needs_one_module_refuses_such_a_program_by_name(xla: XlaExecutor) -> None:
    program = tn.make_program(
        lambda x: tn.sum(tn.dynamic_truncate(x, tn.sum(x))), tn.TensorSpec((3,))
    )
    refused = re.escape("dynamic_truncate makes f64[<=3], whose size data decide")
    with pytest.raises(ExecutorError, match="lower: " + refused):
        xla.lower(program)
    with pytest.raises(ExecutorError, match="to_jax: " + refused):
        to_jax(program)(np.ones(3))


def test_a_static_program_is_one_executable_as_before(xla: XlaExecutor) -> None:
    program = tn.make_program(
        lambda x: tn.pad_to_match(x[:2], x) + tn.shape_of(x), tn.TensorSpec(("n",))
    )
    (found,) = xla.run(program, {"x": np.ones(4)})
    assert found.tolist() == [5.0, 5.0, 4.0, 4.0]
    assert [event.subject.part for event in xla.explain().events] == ["program"]


def test_outputs_may_be_inputs_constants_and_sizes(xla: XlaExecutor) -> None:
    text = """exec_program(%0: f64[4], %1: f64[]) {
      %2: f64[2] = constant[value=[1.0, 2.0], dtype=f64]
      %3: f64[<=4] = dynamic_truncate[axis=0] %0, %1
      %4: i64[] = shape_of[axis=0] %3
      return %0, %2, %3, %4
    }"""
    run = xla.compile_exec(parse(text))
    results = run(xla.put(np.arange(4.0)), xla.put(np.asarray(2.5)))
    assert [np.asarray(r).tolist() for r in results] == [
        [0.0, 1.0, 2.0, 3.0],
        [1.0, 2.0],
        [0.0, 1.0, 2.0],
        3,
    ]


def test_inputs_of_bounded_size_are_taken_at_the_size_they_have(xla: XlaExecutor) -> None:
    text = """exec_program(%0: f64[<=4]) {
      %1: f64[<=4] = sine %0!
      return %1
    }"""
    run = xla.compile_exec(parse(text))
    for size in (0, 3, 4):
        assert run(xla.put(np.ones(size)))[0].shape == (size,)
    with pytest.raises(BindingError, match=re.escape("input 0 is f64[<=4], but is given f64[5]")):
        run(xla.put(np.ones(5)))
    with pytest.raises(BindingError, match=re.escape("but is given f32[2]")):
        run(xla.put(np.ones(2, np.float32)))
    with pytest.raises(BindingError, match="takes 1 input, got 2"):
        run(xla.put(np.ones(2)), xla.put(np.ones(2)))


def test_executables_of_segments_are_bounded_and_shared() -> None:
    xla = XlaExecutor(capacity=Capacity(entries=3))
    program = tn.make_program(
        lambda x, k: tn.dynamic_truncate(x, k), tn.TensorSpec((4,)), tn.TensorSpec((), "int64")
    )
    for k in (1, 2, 3, 4, 100):
        xla.run(program, {"x": np.ones(4), "k": k})
    assert xla.stats().entries == 3
    assert xla.explain().compiled == 4  # 4 and 100 keep the same


def test_the_budget_holds_for_segments() -> None:
    xla = XlaExecutor(max_bytes=64)
    f = tn.jit(
        lambda x, k: tn.lax.dot_general(tn.dynamic_truncate(x, k), x, (((), ()), ((), ()))),
        executor=xla,
    )
    assert f(np.ones(4), np.asarray(2)).shape == (2, 4)
    with pytest.raises(ExtentError, match="more than the budget of 64 bytes"):
        f(np.ones(4), np.asarray(3))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_agree_with_numpy(seed: int) -> None:
    rng = random.Random(seed)
    function = random_function(rng)
    x = np.random.default_rng(seed).uniform(0.1, 1.0, size=7)
    found = tn.jit(function, executor=XlaExecutor(), symbolic={"x": ("n",)})(x)
    expected = tn.jit(function, executor="numpy", symbolic={"x": ("n",)})(x)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-12)


def random_function(rng: random.Random) -> Any:
    """A function of a vector that truncates and pads by what it computes; and its gradient."""
    choices = [(rng.randrange(6), rng.random(), rng.randrange(100)) for _ in range(8)]

    def total(x: Any) -> Any:
        values = [x]
        for kind, number, pick in choices:
            v, w = values[-1], values[pick % len(values)]
            match kind:
                case 0:
                    values.append(tn.dynamic_truncate(v, tn.sum(tn.where(v > number, 1, 0)) + 1))
                case 1:
                    values.append(tn.dynamic_truncate(w, tn.sum(v) + number))
                case 2:
                    values.append(tn.pad_to_match(v, w))
                case 3:
                    values.append(tn.sin(v) * number + tn.sum(w))
                case 4:
                    values.append(tn.dynamic_truncate(v, (tn.shape_of(w) + 1) // 2))
                case _:
                    values.append(w * w)
        return sum(tn.sum(value) * (i + 1) for i, value in enumerate(values)), values[-1]

    def both(x: Any) -> Any:
        (value, last), gradient = tn.value_and_grad(total, has_aux=True)(x)
        return value, last, gradient

    return both
