"""Symbols solved from shapes, of numbers and of other symbols."""

from dataclasses import dataclass
from typing import Any

import pytest

from tenferro.errors import BindingError
from tenferro.runtime import lone_symbol, solve_sizes
from tenferro.shape import SymDim, TensorMeta, dim

N, M = SymDim("n"), SymDim("m")


@dataclass(frozen=True)
class Input:
    name: str
    meta: TensorMeta


def inputs(*shapes: Any) -> list[Input]:
    return [Input(f"x{i}", TensorMeta.of("f8", shape)) for i, shape in enumerate(shapes)]


def test_sizes_follow_from_axes_that_are_one_symbol() -> None:
    assert solve_sizes("f", inputs(("n", 3), ("m", "n")), [(2, 3), (5, 2)]) == {N: 2, M: 5}


def test_an_expression_may_come_before_its_symbols() -> None:
    assert solve_sizes("f", inputs(("2*n",), ("n",)), [(4,), (2,)]) == {N: 2}
    with pytest.raises(BindingError, match=r"axis 0 of input 'x0' is declared 2\*n \(2\*n is 4\)"):
        solve_sizes("f", inputs(("2*n",), ("n",)), [(5,), (2,)])


def test_sizes_may_be_symbols_of_a_trace_around() -> None:
    k = dim("k")
    assert solve_sizes("f", inputs(("n",), ("2*n",)), [(k,), (2 * k,)]) == {N: k}
    with pytest.raises(BindingError, match=r"'x1' is declared n \(n is k\), but the value has"):
        solve_sizes("f", inputs(("n",), ("n",)), [(k,), (dim("l"),)])


@pytest.mark.parametrize(
    ("declared", "shapes", "text"),
    [
        ([("n",), ("n",)], [(2,), (3,)], r"f: axis 0 of input 'x1' is declared n \(n is 2\)"),
        ([(3,)], [(4,)], "f: axis 0 of input 'x0' is declared 3, but the value has size 4"),
        ([("n",)], [(1, 1)], r"f: input 'x0' is f64\[n\], but its shape is \(1, 1\)"),
        ([("2*n",)], [(4,)], "no input has the extent n alone, which would give its size"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(declared: Any, shapes: Any, text: str) -> None:
    with pytest.raises(BindingError, match=text):
        solve_sizes("f", inputs(*declared), shapes)


def test_a_lone_symbol() -> None:
    assert lone_symbol(dim("n")) == N
    assert [lone_symbol(size) for size in (3, dim("2*n"), dim("n + m"))] == [None] * 3
