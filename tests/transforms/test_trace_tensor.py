from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    DTypeError,
    ExtentError,
    ShapeError,
    TracingError,
)
from tenferro.runtime import is_tracing
from tenferro.shape import FLOAT64, TensorMeta, Unknown, UpperBound, dim, fresh_input
from tests.work import chain, tracked_objects


def vector() -> tn.TracedTensor:
    return tn.TracedTensor.input(("n", 3), "float64", name="x")


def test_an_input_has_a_dtype_an_exact_rank_and_extents() -> None:
    x = vector()
    assert (x.dtype, x.ndim, x.shape) == (np.float64, 2, (dim("n"), 3))
    assert (str(x.size), x.name, repr(x)) == ("3*n", "x", "TracedTensor(f64[n,3])")
    assert [str(extent) for extent in x.extents] == ["n", "3"]
    with pytest.raises(ExtentError, match="shape: extent -1 is not between"):
        tn.TracedTensor.input((-1,))
    with pytest.raises(ShapeError, match=r"shape: 1\.5 is not a size"):
        tn.TracedTensor.input((1.5,))  # type: ignore[arg-type]


def test_two_inputs_of_one_name_are_two_inputs() -> None:
    assert vector().key is not vector().key


def test_the_size_of_what_is_only_bounded_is_that_of_the_value() -> None:
    key = fresh_input(TensorMeta(FLOAT64, [UpperBound(dim("n")), Unknown()]), "x")
    x = tn.TracedTensor(key)
    assert (x.ndim, str(x.extents[0])) == (2, "<=n")
    assert str(x.shape[0]).startswith("size(value ")


def test_operators_record_what_the_user_wrote_with_the_place_where() -> None:
    x = vector()
    y = tn.negative(-x) * 1
    assert str(y.key) != str(x.key)
    assert y.key.op.site.startswith("test_trace_tensor.py:")


def test_equal_expressions_are_one_value() -> None:
    x = vector()
    assert (x * 2 + 1).key is (x * 2 + 1).key
    assert (x * 2).key is not (x * 3).key


def test_a_refusal_comes_where_the_op_is_written() -> None:
    with pytest.raises(ShapeError, match=re.escape("add: operands have types f64[n,3] and f64[2]")):
        vector() + tn.ones(2)
    with pytest.raises(DTypeError, match=r"maximum: takes .* operands"):
        tn.maximum(vector(), 1j)


def test_constants_and_other_operands() -> None:
    x = vector()
    assert tn.TracedTensor.constant([1, 2]).dtype == np.int64
    assert (x + np.float32(1)).dtype == np.float64
    assert ([1.0, 2.0, 3.0] * x).shape == x.shape
    assert (x == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None


def test_length_and_iteration_need_a_known_size() -> None:
    x = tn.TracedTensor.input((2, "n"))
    assert [row.shape for row in x] == [(dim("n"),)] * 2
    _first, _second = x
    assert len(x) == 2


def test_arrays_are_made_in_the_graph_while_a_function_is_traced() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend([is_tracing(), tn.zeros(2), tn.asarray([1.0])])
        return x

    tn.jit(f, executor="numpy")(1.0)
    assert seen[0]
    assert [type(value) for value in seen[1:]] == [tn.TracedTensor, tn.Tensor]
    assert not is_tracing()
    assert isinstance(tn.zeros(tn.TracedTensor.input(("n",)).shape), tn.TracedTensor)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tn.zeros((2, "n")),
        lambda: tn.arange("n"),
        lambda: tn.eye("n"),
        lambda: tn.tri(2, "n"),
        lambda: tn.linspace(0, 1, "n"),
    ],
)
def test_a_named_size_outside_of_a_trace_is_refused(make: Any) -> None:
    with pytest.raises(TracingError, match=r"the size 'n' has a number only in a function that is"):
        make()


def test_values_of_a_trace_that_has_ended_are_refused() -> None:
    kept: list[Any] = []

    def escaping(x: Any) -> Any:
        kept[:] = [x, tn.sin(x)]
        return tn.sum(x)

    tn.grad(escaping)(np.ones(3))
    x, y = kept
    text = (
        r"add: f64\[3\] \(sine\(x\), recorded at test_trace_tensor.py:\d+\) is a value of the "
        "trace of escaping, which has ended; return it from escaping"
    )
    with pytest.raises(TracingError, match=text):
        y + 1
    uses: list[Any] = [
        lambda: tn.exp(x),
        lambda: tn.stack([1.0, x]),
        lambda: y[1:],
        lambda: tn.jit(lambda z: z * x, executor="numpy")(1.0),
        lambda: tn.jit(lambda z: x, executor="numpy")(1.0),
        lambda: tn.grad(lambda z: z)(x),
        lambda: tn.GraphCompiler().compile([y]),
        lambda: tn.AdContext().grad(tn.TracedTensor.input(()), [x]),
    ]
    for use in uses:
        with pytest.raises(TracingError, match="is a value of the trace of escaping, which has"):
            use()


def test_values_of_an_enclosing_trace_that_is_open_may_be_used() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []
        slope = tn.grad(lambda y: kept.append(x * 3) or y * x)(x)
        mapped = tn.vmap(lambda z: z * kept[0])(np.ones(2))
        return slope + kept[0] + tn.sum(mapped)

    assert tn.jit(f, executor="numpy")(2.0).item() == 20
    assert tn.grad(f)(2.0).item() == 10


def test_tracing_ends_with_an_exception() -> None:
    def f(x: Any) -> Any:
        raise RuntimeError("of the user")

    with pytest.raises(RuntimeError, match="of the user"):
        tn.jit(f, executor="numpy")(1.0)
    assert not is_tracing()


def test_recording_an_op_makes_its_node_and_nothing_that_stays() -> None:
    x = vector()
    chain(x, 1_000)
    _, count = tracked_objects(lambda: chain(x, 1_000))
    assert count < 3 * 1_000 + 50
