"""Applying an extension op to whatever the user has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import ShapeError
from tenferro.extension import sizes_differ
from tenferro.shape import dim
from tests.spec.extensions import native, pair
from tests.testing.families import Pair, X, Y


def test_arrays_and_host_tensors_are_computed_at_once() -> None:
    for x in (X, tn.Tensor(X)):
        product, sine = pair(x, Y)
        assert isinstance(product, tn.Tensor)
        np.testing.assert_allclose(product, 2 * X * Y)
        np.testing.assert_allclose(sine, np.sin(X))


def test_a_number_is_an_array_of_rank_0() -> None:
    np.testing.assert_allclose(pair(3.0, 2.0)[0], 12.0)
    with pytest.raises(ShapeError, match="pair: sizes differ"):
        pair(X, np.ones((2, 1)))


def test_tensors_of_a_device_are_computed_there() -> None:
    executor = txla.XlaExecutor()
    on_device = tn.Tensor.wrap(executor.put(X), executor)
    product, sine = pair(on_device, Y)
    assert product.executor is executor
    np.testing.assert_allclose(product, 2 * X * Y)
    np.testing.assert_allclose(sine, np.sin(X))


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_an_eager_runtime_computes_on_its_executor(executor: str) -> None:
    rt = tn.EagerRuntime(executor)
    if executor == "numpy":
        rt.register_extension(lambda registry: [registry.register(r) for r in runtimes_of()])
    product, sine = pair(rt.constant(X), Y)
    assert isinstance(product, tn.EagerTensor)
    np.testing.assert_allclose(np.asarray(product), 2 * X * Y)
    np.testing.assert_allclose(np.asarray(sine), np.sin(X))


def runtimes_of() -> list[Any]:
    class Runtime:
        family_id = Pair.FAMILY_ID

        def execute(self, backend: Any, op: Any, inputs: Any, cache: Any) -> Any:
            return op.eager_execute(inputs)

    return [Runtime()]


def test_one_program_runs_on_every_executor() -> None:
    spec = tn.TensorSpec(("n", 3))
    program = tn.make_program(pair, spec, spec)
    given = {"x": X, "y": Y}
    for results in (
        native().run(program, given),
        txla.XlaExecutor().run(program, given),
        txla.to_jax(program)(X, Y),
    ):
        np.testing.assert_allclose(results[0], 2 * X * Y)
        np.testing.assert_allclose(results[1], np.sin(X))


def test_sizes_differ_where_that_is_certain() -> None:
    n, m = dim("n"), dim("m")
    assert [sizes_differ(*pair) for pair in ((1, 2), (n, n + 1), (2 * n, n + n + 3))] == [True] * 3
    assert not any(sizes_differ(*pair) for pair in ((2, 2), (n, n), (n, m), (n, 2), (2 * n, n)))
