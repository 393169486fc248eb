"""Section 8 of the contract of extension ops: execution, native and on XLA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import compile_std_to_exec
from tenferro.core import compile_graph, materialize_merge, resolve_keys
from tenferro.errors import (
    UnregisteredExtensionError,
    UnsupportedExtensionError,
)
from tenferro.extension import (
    Extension,
    apply,
)
from tenferro.ir import Category
from tenferro.runtime import segment_exec_program
from tests.spec.extensions import SPECS, inputs, native, pair, refused
from tests.testing.families import (
    Array,
    First,
    Pair,
    X,
    Y,
    runtimes,
)

# ------------------------------------------------------------------------------------ section 8


def test_8_compile_fills_in_types_and_runs_nothing() -> None:
    class Untouchable(Pair):
        def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
            raise AssertionError("compiling executes")

    x, y = inputs("x", "y")
    graph = materialize_merge(resolve_keys(), [out.key for out in apply(Untouchable(), x, y)])
    (step,) = compile_std_to_exec(compile_graph(graph), [x.meta, y.meta]).instructions
    assert [str(meta) for meta in step.output_metas] == ["f64[n,3]", "f64[n,3]"]
    (step,) = tn.make_program(
        lambda x, y: apply(Untouchable(), x, y), *SPECS
    ).exec_program.instructions
    assert step.last_use == (True, True)


def test_8_an_extension_is_a_segment_of_its_own_and_is_not_folded() -> None:
    def f(x: Any) -> Any:
        product, _ = pair(tn.exp(x) * 2, x)
        one = tn.TracedTensor.constant(np.ones((2, 3)))
        constant, _ = pair(one, one)
        return tn.sin(product + constant) * 3

    program = tn.make_program(f, tn.TensorSpec((2, 3))).exec_program
    segments = segment_exec_program(program)
    alone = [s for s in segments if any(isinstance(i.op, Extension) for i in s.instructions)]
    assert [(s.category, len(s.instructions)) for s in alone] == [(Category.BOUNDARY, 1)] * 2
    assert any(len(s.instructions) > 1 for s in segments)


def test_8_extension_runtimes_run_outside_backend_sessions() -> None:
    class Sessions(tn.NumpyBackend):
        inside = False

        @contextmanager
        def with_backend_session(self) -> Iterator[Any]:
            Sessions.inside = True
            yield self
            Sessions.inside = False

    def run(op: Any, inputs: Any) -> Any:
        assert not Sessions.inside
        return op.eager_execute(inputs)

    register = runtimes([Pair.FAMILY_ID, First.FAMILY_ID], run)
    executor = tn.GraphExecutor(Sessions())
    executor.register_extension(register)
    program = tn.make_program(lambda x, y: tn.exp(pair(tn.exp(x), y)[0]), *SPECS)
    assert len(executor.run(program, {"x": X, "y": Y})) == 1


def test_8_outputs_that_nothing_reads_are_left_out() -> None:
    first = tn.make_program(lambda x, y: pair(x, y)[0], *SPECS)
    assert "tests.first.v1" in str(first)
    second = tn.make_program(lambda x, y: pair(x, y)[1], *SPECS)
    assert "tests.pair.v1" in str(second)
    np.testing.assert_allclose(native().run(first, {"x": X, "y": Y})[0], 2 * X * Y)


def test_8_equal_instructions_are_joined() -> None:
    program = tn.make_program(lambda x, y: pair(x, y)[1] + pair(x * 1, y)[1], *SPECS)
    assert str(program).count("extension[") == 1


class Strict(Pair):
    """May not be executed, only lowered."""

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        raise AssertionError("eager_execute is called")


def test_8_xla_uses_the_registered_lowering_before_standard_ops() -> None:
    program = tn.make_program(lambda x, y: apply(Strict(), x, y), *SPECS)
    executor = txla.XlaExecutor()
    np.testing.assert_allclose(executor.run(program, {"x": X, "y": Y})[0], 2 * X * Y)
    executor.register_extension(
        lambda lowerings: lowerings.register(Pair.FAMILY_ID, lambda op, x, y: (x, y))
    )
    np.testing.assert_allclose(executor.run(program, {"x": X, "y": Y})[0], X)


def test_8_xla_never_executes() -> None:
    class NoForm(Strict):
        def lower_to_standard_ops(
            self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
        ) -> Any:
            return None

    executor = txla.XlaExecutor()
    program = tn.make_program(lambda x, y: apply(NoForm(), x, y), *SPECS)
    with refused(UnsupportedExtensionError, Pair.FAMILY_ID, "no lowering is registered"):
        executor.run(program, {"x": X, "y": Y})
    with refused(UnsupportedExtensionError, Pair.FAMILY_ID, "no standard-op form for f64"):
        tn.jit(lambda x: apply(NoForm(), x, x))(X)
    with refused(UnsupportedExtensionError, Pair.FAMILY_ID, "no standard-op form for f64"):
        apply(NoForm(), tn.Tensor.wrap(executor.put(X), executor), Y)


def test_8_an_eager_runtime_never_executes_what_is_not_registered() -> None:
    rt = tn.EagerRuntime()
    with refused(UnregisteredExtensionError, Pair.FAMILY_ID, "no runtime is registered"):
        apply(Strict(), rt.constant(X), rt.constant(Y))
    rt.register_extension(runtimes([Pair.FAMILY_ID], lambda op, inputs: list(inputs)))
    np.testing.assert_array_equal(apply(Strict(), rt.constant(X), rt.constant(Y))[1], Y)
