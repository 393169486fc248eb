import itertools

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, UnsupportedDynamicShapeError

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
VECTOR = tn.TensorSpec(("n",))
BOUNDS = [None, -4, -1, 0, 1, 3]


@pytest.mark.parametrize("step", [None, 1, 2, -1, -2])
def test_slices_of_symbolic_axes_are_numpys(step: int | None) -> None:
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        window = slice(start, stop, step)
        program = tn.make_program(lambda x, window=window: x[window], VECTOR)
        for n in (0, 1, 2, 3, 6):
            x = np.arange(float(n))
            (result,) = NUMPY.run(program, {"x": x})
            assert result.tolist() == x[window].tolist(), (window, n)


@pytest.mark.parametrize(
    "window",
    [slice(1, None), slice(None, -1), slice(2, -3), slice(None, None, -2), slice(-2, 0, -1)],
)
def test_derivatives_of_slices_of_symbolic_axes(window: slice) -> None:
    program = tn.make_program(tn.grad(lambda x: tn.sum(x[window] ** 2)), VECTOR)
    for n in (0, 1, 4, 7):
        x = np.arange(float(n))
        expected = np.zeros(n)
        expected[window] = 2 * x[window]
        assert NUMPY.run(program, {"x": x})[0].tolist() == expected.tolist()


def test_neighbours_of_a_symbolic_axis_have_one_size() -> None:
    program = tn.make_program(lambda x: x[1:] * x[:-1] + x[:0:-1], VECTOR)
    assert program.guards == ()
    assert [str(meta) for meta in program.exec_program.output_metas] == ["f64[max(0, n - 1)]"]


def test_axes_whose_size_data_decide_are_taken_whole_or_in_part() -> None:
    def f(x: tn.TracedTensor, k: tn.TracedTensor) -> list[tn.TracedTensor]:
        y = tn.dynamic_truncate(x, k)
        return [y[:, 0], y[..., None, 1:], y[None], y[::-1], y[:2, 0], y[::2]]

    program = tn.make_program(f, tn.TensorSpec(("n", 3)), tn.TensorSpec((), "int64"))
    types = [str(meta) for meta in program.exec_program.output_metas]
    assert types[:4] == ["f64[<=n]", "f64[<=n,1,2]", "f64[1,<=n,3]", "f64[<=n,3]"]
    x = np.arange(12.0).reshape(4, 3)
    for k in (0, 1, 3):
        y = x[:k]
        expected = [y[:, 0], y[..., None, 1:], y[None], y[::-1], y[:2, 0], y[::2]]
        for ours, theirs in zip(NUMPY.run(program, {"x": x, "k": k}), expected, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_an_element_of_an_axis_whose_size_data_decide_may_not_be_there() -> None:
    with pytest.raises(UnsupportedDynamicShapeError, match=r"slice: operand\[0\] must be exact"):
        tn.make_program(
            lambda x, k: tn.dynamic_truncate(x, k)[0], VECTOR, tn.TensorSpec((), "int64")
        )


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(
        AxisError, match=r"axis 0 of f64\[n\]: a step must be an integer other than"
    ):
        tn.make_program(lambda x: x[::0], VECTOR)
