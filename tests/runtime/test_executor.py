from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import DeviceError, ExecutorError, VerifyError
from tenferro.ir import Category, ExecOp
from tenferro.runtime import executor_named, segment_exec_program

Array = np.ndarray[Any, Any]


class Watching(tn.NumpyBackend):
    """Counts sessions and results that are alive."""

    def __init__(self) -> None:
        self.sessions: list[list[str]] = []
        self.boundaries: list[str] = []
        self.alive: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.most = 0
        self.reclaimed = 0

    @contextmanager
    def with_backend_session(self) -> Iterator[Watching]:
        self.sessions.append([])
        yield self

    def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.sessions[-1].append(op.name)
        return self._watched(op.evaluate(inputs))

    def execute_boundary(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.boundaries.append(op.name)
        return self._watched(op.evaluate(inputs))

    def reclaim_buffer(self, buffer: Array) -> None:
        self.reclaimed += 1

    def _watched(self, results: Sequence[Any]) -> tuple[Array, ...]:
        arrays = tuple(np.asarray(result) for result in results)
        for array in arrays:
            self.alive[id(array)] = array
        self.most = max(self.most, len(self.alive))
        return arrays


def chain(length: int) -> tn.GraphProgram:
    def f(x: Any) -> Any:
        for _ in range(length):
            x = tn.sin(x)
        return x

    return tn.make_program(f, tn.TensorSpec((3,)))


@pytest.mark.parametrize("segmented", [True, False])
def test_buffers_are_dropped_at_their_last_use(segmented: bool) -> None:
    backend = Watching()
    tn.GraphExecutor(backend, segmented=segmented).run(chain(50), {"x": np.ones(3)})
    assert backend.most <= 2  # the operand and the result
    assert backend.reclaimed == 50


@pytest.mark.parametrize("segmented", [True, False])
def test_an_input_is_not_kept_alive_after_its_last_use(segmented: bool) -> None:
    backend = Watching()
    executor = tn.GraphExecutor(backend, segmented=segmented)
    program = tn.make_program(lambda x, y: x @ y + 1, np.ones((2, 2)), np.ones((2, 2)))
    executor.run(program, {"x": np.ones((2, 2)), "y": np.ones((2, 2))})
    assert len(backend.alive) <= 1


def test_one_session_runs_neighbouring_instructions() -> None:
    backend = Watching()
    program = tn.make_program(lambda x: tn.exp(tn.sin(x @ x) - x), np.ones((2, 2)))
    tn.GraphExecutor(backend).run(program, {"x": np.ones((2, 2))})
    assert backend.boundaries == ["dot_general"]
    assert [names for names in backend.sessions if names] == [["sine", "subtract", "exponential"]]
    alone = Watching()
    tn.GraphExecutor(alone, segmented=False).run(program, {"x": np.ones((2, 2))})
    assert [names for names in alone.sessions if names] == [["sine"], ["subtract"], ["exponential"]]


def test_segments_are_maximal_runs_of_session_instructions() -> None:
    program = tn.make_program(lambda x: tn.exp(tn.sin(x @ x) + 2.0) @ x, np.ones((2, 2)))
    segments = segment_exec_program(program.exec_program)
    assert [step for segment in segments for step in segment.instructions] == list(
        program.exec_program.instructions
    )
    for segment in segments:
        assert segment.category is Category.SESSION or len(segment.instructions) == 1
    neighbours = itertools.pairwise(segments)
    assert not any(a.category is b.category is Category.SESSION for a, b in neighbours)


OPS = [
    lambda a, b: a + b,
    lambda a, b: a * tn.cos(b),
    lambda a, b: a @ b,
    lambda a, b: tn.where(a > b, a, b.T),
    lambda a, b: tn.sum(a, axis=0) - b,
    lambda a, b: tn.tril(a) + 1.5,
]


@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_segmented_and_unsegmented_execution_agree(steps: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        values = [x, y]
        for op, i, j in steps:
            values.append(op(values[i % len(values)], values[j % len(values)]))
        return values[-1]

    x, y = np.arange(4.0).reshape(2, 2) / 4, np.ones((2, 2)) / 3
    program = tn.make_program(f, x, y)
    results = [
        tn.GraphExecutor(tn.NumpyBackend(), segmented=segmented).run(program, {"x": x, "y": y})[0]
        for segmented in (True, False)
    ]
    np.testing.assert_array_equal(np.asarray(results[0]), np.asarray(results[1]))


def test_a_program_is_specialised_once_for_each_size() -> None:
    executor = tn.GraphExecutor(tn.NumpyBackend())
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec(("n",)))
    for n in (1, 2, 1, 2, 2):
        assert executor.run(program, {"x": np.ones(n)})[0].shape == (n,)
    stats = executor.stats()
    assert (stats.misses, stats.hits, stats.entries) == (2, 3, 2)
    executor.clear()
    assert executor.stats().entries == 0
    assert executor.capacity.entries > 0


def test_an_input_that_is_returned_is_copied() -> None:
    x = np.ones(2)
    program = tn.make_program(lambda x: (x, x), x)
    one, two = tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": x})
    assert one.tolist() == two.tolist() == [1.0, 1.0]
    assert not np.shares_memory(one.numpy(), x)


def test_tensors_of_another_executor_are_not_moved_unasked() -> None:
    pytest.importorskip("jax")
    program = tn.make_program(lambda x: x * 2, tn.TensorSpec((2,)))
    device = tn.Tensor([1.0, 2.0]).to_device("xla")
    with pytest.raises(DeviceError, match=r"run: f64\[2\] is on cpu:0, not on numpy; move it with"):
        tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": device})


def test_an_unknown_executor_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ExecutorError, match="no executor is named 'tpu9'; installed: numpy, xla"):
        executor_named("tpu9")
    with pytest.raises(ExecutorError, match="no executor is named 'tpu9'"):
        tn.jit(lambda x: x, executor="tpu9")(1.0)


def test_a_malformed_program_is_refused() -> None:
    text = "exec_program(%0: f64[2]) {\n%1: f64[2] = add %0, %5\nreturn %1\n}"
    with pytest.raises(VerifyError, match="add reads %5 before it is written"):
        tn.GraphExecutor(tn.NumpyBackend()).compile_exec(parse(text))


@pytest.mark.parametrize("wrong", ["numpy", None])
def test_an_executor_is_made_of_a_backend(wrong: Any) -> None:
    with pytest.raises(ExecutorError, match="GraphExecutor: takes a backend, such as NumpyBackend"):
        tn.GraphExecutor(wrong)
