import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenferro.shape import (
    Dim,
    SymDim,
    at_most,
    bind,
    canonical,
    dim,
    floordiv,
    grows,
    leaves,
    maximum,
    minimum,
    product,
    substitute,
)

N, M = SymDim("n"), SymDim("m")
n, m = dim("n"), dim("m")

sizes = st.recursive(
    st.one_of(st.integers(-3, 3), st.sampled_from([n, m])),
    lambda inner: st.builds(
        lambda combine, a, b: combine(a, b),
        st.sampled_from(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: a * b,
                minimum,
                maximum,
                lambda a, b: floordiv(a, 2),
            ]
        ),
        inner,
        inner,
    ),
    max_leaves=6,
)


def value(size: Dim, **bindings: int) -> Dim:
    return bind(size, {SymDim(name): number for name, number in bindings.items()})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (n + m, m + n),
        (n * m, m * n),
        ((n + 1) * (n - 1), n * n - 1),
        (2 * n - n, n),
        (n + n, 2 * n),
        ((n + m) * 3 - 3 * m, 3 * n),
        (1 - n, -(n - 1)),
        (n * 0, 0),
        (n - n + 5, 5),
        (floordiv(4 * n + 2, 2), 2 * n + 1),
        (floordiv(2 * n + 1, 2), n),
        (floordiv(n, n), 1),
        ((2 * n) // 2, n),
        (minimum(n, m), minimum(m, n)),
        (maximum(n, n), n),
        (maximum(n, 0), n),
        (minimum(n + 1, n), n),
        (minimum(n, minimum(m, n + 2)), minimum(m, n)),
        (maximum(minimum(n, m), n), n),
        (minimum(maximum(n, m), m), m),
        (maximum(minimum(n, 3), 0), minimum(3, n)),
        (product([2, n, 3, m]), 6 * n * m),
        (product([]), 1),
    ],
)
def test_equal_sizes_compare_equal(left: Dim, right: Dim) -> None:
    assert left == right
    assert hash(left) == hash(right)
    assert str(left) == str(right)


def test_what_cancels_is_a_plain_integer() -> None:
    assert type(n - n) is int
    assert type((n + 2) - n) is int
    assert type(minimum(3, 4)) is int


@pytest.mark.parametrize(
    ("left", "right"),
    list(itertools.combinations([n, m, n + 1, 2 * n, n * n, n * m, floordiv(n, 2), -n, 0, 1], 2)),
    ids=str,
)
def test_different_sizes_differ(left: Dim, right: Dim) -> None:
    assert left != right


def test_what_is_not_known_equal_is_not_claimed() -> None:
    assert maximum(n, 1) != n
    assert maximum(n - 1, 0) != n - 1
    assert floordiv(n, 2) * 2 != n
    assert floordiv(n + 1, 2) != floordiv(n, 2)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (n, "n"),
        (2 * n + 1, "2*n + 1"),
        (m * n - 3, "m*n - 3"),
        (1 - n, "-n + 1"),
        (floordiv(n + 1, 2), "floordiv(n + 1, 2)"),
        (minimum(n, 3) + 2 * m, "2*m + min(3, n)"),
    ],
)
def test_the_text_is_the_normal_form(size: Dim, text: str) -> None:
    assert str(size) == text
    assert dim(text) == size
    assert repr(size) == f"dim({text!r})"


def test_arithmetic_with_integers_from_either_side() -> None:
    assert value(7 - n, n=3) == 4
    assert value(2 * n + 1, n=3) == 7
    assert value(7 // n, n=3) == 2
    assert value(n // 2, n=7) == 3
    assert value(-n, n=3) == -3


def test_binding_replaces_symbols_inside_calls() -> None:
    size = minimum(n + 1, floordiv(m, 2)) * maximum(n, m)
    assert value(size, n=3, m=10) == 40
    assert value(size, n=3) == minimum(4, floordiv(m, 2)) * maximum(3, m)
    assert bind(5, {N: 1}) == 5


def test_symbols_are_those_of_calls_too() -> None:
    assert leaves(floordiv(n, 2) + minimum(m, 3)) == {N, M}
    assert leaves(n - n + 1) == set()


def test_substitution_puts_sizes_for_symbols() -> None:
    assert substitute(n * n, lambda leaf: m + 1) == m * m + 2 * m + 1
    assert substitute(4, lambda leaf: m) == 4


def test_a_size_differs_from_values_of_other_types() -> None:
    assert n != "n"
    assert n.__eq__(N) is False


@given(a=sizes, b=sizes, numbers=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_arithmetic_on_symbols_agrees_with_arithmetic_on_integers(
    a: Dim, b: Dim, numbers: tuple[int, int]
) -> None:
    def at(size: Dim) -> Any:
        return value(size, n=numbers[0], m=numbers[1])

    assert at(a + b) == at(a) + at(b)
    assert at(a - b) == at(a) - at(b)
    assert at(a * b) == at(a) * at(b)
    assert at(minimum(a, b)) == min(at(a), at(b))
    assert at(maximum(a, b)) == max(at(a), at(b))
    assert at(floordiv(a, 3)) == at(a) // 3


@given(a=sizes, b=sizes, numbers=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_what_is_evident_is_so(a: Dim, b: Dim, numbers: tuple[int, int]) -> None:
    left, right = (value(size, n=numbers[0], m=numbers[1]) for size in (a, b))
    assert not at_most(a, b) or left <= right
    assert canonical(a, b) is not None or left != right


@given(size=sizes, numbers=st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_a_size_that_grows_does(size: Dim, numbers: tuple[int, int]) -> None:
    if grows(size):
        assert value(size, n=numbers[0], m=numbers[1]) <= value(size, n=9, m=9)


@given(a=sizes, b=sizes)
def test_sums_and_products_do_not_depend_on_the_order(a: Dim, b: Dim) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) - b == a
    assert (a + b) * (a - b) == a * a - b * b


@given(size=sizes)
def test_a_size_is_read_back_from_its_text(size: Dim) -> None:
    assert dim(str(size)) == size
