"""Types and sizes as text: what is written is read, and nothing else is."""

from __future__ import annotations

import contextlib
import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenferro.errors import FileError
from tenferro.serialization.types import (
    MAX_SIZE,
    MAX_TEXT,
    parse_size,
    parse_type,
    size_text,
    type_text,
)
from tenferro.shape import (
    Dim,
    Exact,
    InputDim,
    RuntimeAxis,
    TensorMeta,
    Unknown,
    UpperBound,
    as_dtype,
    dim,
    floordiv,
    maximum,
    minimum,
    symbol,
)
from tests.serialization.work import TooMuchWorkError, at_most

LEAVES = st.sampled_from(["n", "m", "größe", "k_1"]).map(dim)
SIZES: st.SearchStrategy[Dim] = st.recursive(
    st.integers(0, 9) | LEAVES | st.just(symbol(InputDim(0, 1))),
    lambda parts: (
        st.builds(
            lambda f, a, b: f(a, b),
            st.sampled_from(
                [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, minimum, maximum]
            ),
            parts,
            parts,
        )
        | st.builds(floordiv, parts, st.integers(1, 5))
    ),
    max_leaves=6,
)


@given(SIZES)
def test_a_size_that_was_written_is_read(size: Dim) -> None:
    assert parse_size(size_text(size)) == size


@given(st.lists(SIZES, max_size=3), st.sampled_from(["f64", "bool", "c64", "u16"]))
def test_a_type_that_was_written_is_read(sizes: list[Dim], dtype: str) -> None:
    kinds = [Exact, UpperBound]
    extents = [kinds[i % 2](size) for i, size in enumerate(sizes)]
    if all(not isinstance(size, int) or size >= 0 for size in sizes):
        meta = TensorMeta(as_dtype(dtype), [*extents, Unknown()])
        assert parse_type(type_text(meta)) == meta


@pytest.mark.parametrize(
    "text",
    [
        *("", " n", "n ", "n+m", "m + n + ", "n + 1 + m", "1 + n", "n*m", "1*n", "n - n", "n + 0"),
        *(
            "0*n",
            "--1",
            "(n)",
            "(a + b)*(c + d)",
            "n*(a + b)",
            "n**2",
            "n/2",
            "n // 2",
            "2.0",
            "0x1",
        ),
        *(
            "min(n, m)",
            "min(m)",
            "min(m, n",
            "min(m, n))",
            "min(m, o, n)",
            "min(1, 2)",
            "max(n, n)",
        ),
        *("floordiv(2*n, 2)", "floordiv(n, n)", "pow(n, 2)", "dim(n, 1)", "dim(0)", "floordiv"),
        *("f64", "nan", "٣", "n\n", "__import__('os')", "[n]", "n, m", "True and n", "01", "-0"),
    ],
)
def test_a_text_that_no_size_has_is_refused(text: str) -> None:
    with pytest.raises(FileError, match=r"file: .* is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("f64", r"file: 'f64' is not a type"),
        ("f64[n", r"file: 'f64\[n' is not a type"),
        ("float64[3]", r"file: 'float64\[3\]' is not a type"),
        ("f64[3]x", "is not a type"),
        ("f64[<=]", "is not a size"),
        ("f64[,]", "is not a size"),
        ("f64[-1]", r"file: 'f64\[-1\]' is not a type: shape: extent -1 is not between"),
        ("f64[9223372036854775808]", "file: an integer in a size does not fit 64 bits"),
        (f"f64[{','.join('1' * 65)}]", "file: a type has 65 axes, more than 64"),
        (f"f64[{'1' * MAX_TEXT}]", "file: a type takes 4101 characters, more than 4096"),
    ],
)
def test_a_text_that_no_type_has_is_refused(text: str, match: str) -> None:
    with pytest.raises(FileError, match=match):
        parse_type(text)


def nested(function: str, depth: int, name: str = "a") -> str:
    """A call of calls, two in each, down to names of their own."""
    if depth == 0:
        return name
    parts = [nested(function, depth - 1, name + letter) for letter in "ab"]
    return f"{function}({', '.join(parts)})"


@pytest.mark.parametrize(
    "text",
    [
        "*".join(["floordiv(2*a + 2*b, 2)"] * 44),
        "min(" * 250,
        f"min({', '.join(f'a{i}*b{i}' for i in range(90))})",
        f"min({'max(' * 30}a{', b' * 30}, {'min(' * 30}a{', b)' * 30})",
        f"min({nested('max', 5)}, {nested('min', 5)})",
        "min(a, " * 120 + "a" + ")" * 120,
        "-" * 1000,
        " + ".join(f"a{i}" for i in range(150)),
        "*".join(f"a{i}" for i in range(200)),
    ],
)
def test_reading_takes_little_work_whatever_the_text(text: str) -> None:
    assert len(text) <= MAX_SIZE
    with at_most(300_000), contextlib.suppress(FileError):
        parse_size(text)


def test_work_is_counted_and_bounded() -> None:
    with at_most(10**6) as work:
        parse_size("n + 1")
    assert work.calls > 20
    with pytest.raises(TooMuchWorkError, match="more than 20 calls"), at_most(20):
        parse_size("n + 1")


def test_sizes_that_could_not_be_read_again_are_not_written() -> None:
    names = [dim(f"n{i}") for i in range(17)]
    with pytest.raises(FileError, match="is not a size in normal form"):
        size_text(functools.reduce(minimum, names))
    with pytest.raises(FileError, match=r"file: a size takes .* characters, more than 1024"):
        type_text(TensorMeta.of("f64", [sum(dim(f"n{i}" * 9) for i in range(40))]))
    local: Dim = symbol(RuntimeAxis(3, 0))
    with pytest.raises(FileError, match=r"file: 'size\(value 3, 0\)' is not a size"):
        size_text(local)
