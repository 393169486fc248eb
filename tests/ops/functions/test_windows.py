import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, GuardViolationError, ShapeError

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
    first = tn.jit(lambda x, k: tn.dynamic_truncate(x, k)[0], executor="numpy")
    assert first(np.array([5.0, 6.0]), 1) == 5.0
    with pytest.raises(GuardViolationError, match="0 is out of range"):
        first(np.array([5.0, 6.0]), 0)


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(
        AxisError, match=r"axis 0 of f64\[n\]: a step must be an integer other than"
    ):
        tn.make_program(lambda x: x[::0], VECTOR)


# What a bound of named size means, whatever its sign is in a run.
NAMED_BOUNDS: dict[str, Callable[[Any], slice]] = {
    "-(n//2):": lambda n: slice(-(n // 2), None),
    ":-(n//2)": lambda n: slice(None, -(n // 2)),
    "-(n-1):": lambda n: slice(-(n - 1), None),
    "n-3:": lambda n: slice(n - 3, None),
    ":n-3": lambda n: slice(None, n - 3),
    "n-4:n-1": lambda n: slice(n - 4, n - 1),
    "-n:": lambda n: slice(-n, None),
    ":-n": lambda n: slice(None, -n),
    "n//2:": lambda n: slice(n // 2, None),
    "n-1::-1": lambda n: slice(n - 1, None, -1),
    ":n-2:-1": lambda n: slice(None, n - 2, -1),
    "-(n//2)::-2": lambda n: slice(-(n // 2), None, -2),
    "2:3-n:-1": lambda n: slice(2, 3 - n, -1),
    "n-3:-1:2": lambda n: slice(n - 3, -1, 2),
}


def _uses_of_a_slice(x: Any, y: Any, place: Callable[[Any], slice]) -> tuple[Any, ...]:
    part = place(x.shape[0])
    return (
        x[part] * 1,
        y[part] * 1,  # of constant size
        tn.concat([y, x])[part],
        x.at[part].set(9.0),
        y.at[part].add(1.0),
        tn.grad(lambda x: tn.sum(x[part] ** 2))(x),
    )


@pytest.mark.exhaustive(but=7)
@pytest.mark.parametrize("name", NAMED_BOUNDS)
def test_a_bound_of_named_size_means_what_its_number_means(name: str) -> None:
    place = NAMED_BOUNDS[name]
    program = tn.make_program(
        lambda x, y: _uses_of_a_slice(x, y, place), tn.TensorSpec(("n",)), tn.TensorSpec((5,))
    )
    y = np.arange(10.0, 15.0)
    for n in range(7):
        x = np.arange(1.0, n + 1)
        for got, want in zip(
            program(x, y), _uses_of_a_slice(tn.asarray(x), tn.asarray(y), place), strict=True
        ):
            np.testing.assert_array_equal(got, want, err_msg=f"{name} at n = {n}")


@pytest.mark.exhaustive
def test_xla_cuts_at_the_same_named_bounds() -> None:
    def every_use(x: Any, y: Any) -> list[Any]:
        return [_uses_of_a_slice(x, y, place) for place in NAMED_BOUNDS.values()]

    function = tn.jit(every_use, symbolic={"x": ("n",)})
    y = np.arange(10.0, 15.0)
    for n in (2, 5):
        x = np.arange(1.0, n + 1)
        for got, want in zip(function(x, y), every_use(tn.asarray(x), tn.asarray(y)), strict=True):
            for one, other in zip(got, want, strict=True):
                np.testing.assert_array_equal(one, other)


def test_slices_whose_bounds_are_certain_keep_short_sizes() -> None:
    x = tn.TracedTensor.input(("n",))
    n = x.shape[0]
    assert x[-n:].shape == x[n - 1 :: -1].shape == x[::-1].shape == (n,)
    assert x[:-n].shape == (0,)


def test_a_position_of_named_size_is_an_index() -> None:
    def functions(x: Any, y: Any) -> list[Any]:
        n = x.shape[0]
        places = (n - 1, n // 2, -n, n - 3, 1 - n)
        reads = [(x[place], y[:, [0, 1], place]) for place in places]
        return [*reads, *[(x.at[place].set(7.0), y.at[place].add(1.0)) for place in places[-2:]]]

    program = tn.make_program(lambda x, y: functions(x, y), VECTOR, tn.TensorSpec((4, 2, 5)))
    x, y = np.arange(1.0, 4.0), np.arange(40.0).reshape(4, 2, 5)
    want = [each for pair in functions(tn.asarray(x), tn.asarray(y)) for each in pair]
    for got, expected in zip(tn.tree.leaves(program(x, y)), want, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ShapeError):
        program(np.ones(0), y)


def test_a_position_that_no_result_reads_must_be_in_range() -> None:
    for function in (lambda x: x.at[3].set(9.0), tn.grad(lambda x: x[3] * 1)):
        program = tn.make_program(function, tn.TensorSpec(("n",)))
        assert program(np.zeros(5)).shape == (5,)
        with pytest.raises(ShapeError, match=r"index: 3 is out of range for axis 0 of f64\[n\]"):
            program(np.zeros(2))


def test_named_positions_are_refused_where_indices_may_be_out_of_range() -> None:
    x = tn.TracedTensor.input(("n",))
    with pytest.raises(AxisError, match=r"with mode= pass tn.asarray\(size\)"):
        x.at[x.shape[0] - 1].get(mode="clip")
    with pytest.raises(AxisError, match="a step must be an integer other than zero"):
        x[:: x.shape[0]]
