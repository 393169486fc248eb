import ast

import pytest

from tenferro.errors import ShapeError
from tenferro.shape import InputDim, SymDim, dim, dim_of_ast, floordiv, leaves, maximum, minimum


def test_a_name_is_a_symbol_and_an_integer_itself() -> None:
    assert leaves(dim("n")) == {SymDim("n")}
    assert dim(3) == 3
    assert dim("3") == 3
    assert dim(dim("n")) == dim("n")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2*n + 1", 2 * dim("n") + 1),
        ("n//2", floordiv(dim("n"), 2)),
        ("floordiv(n, 2)", floordiv(dim("n"), 2)),
        ("min(n, 3)", minimum(dim("n"), 3)),
        ("max(n, m + 1)", maximum(dim("n"), dim("m") + 1)),
        ("-n + 2", 2 - dim("n")),
        ("n - (m - n)", 2 * dim("n") - dim("m")),
    ],
)
def test_expressions_are_read(text: str, size: object) -> None:
    assert dim(text) == size


def test_the_size_of_an_operands_axis_is_a_symbol_of_its_own() -> None:
    size = dim("dim(0, 1) + n")
    assert leaves(size) == {InputDim(0, 1), SymDim("n")}
    assert str(size) == "dim(0, 1) + n"
    assert dim(str(size)) == size


@pytest.mark.parametrize(
    "text", ["", "n +", "n / 2", "n ** m", "1.5", "True", "f(n)", "n[0]", "min(n)", "x y", "'n'"]
)
def test_text_that_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ShapeError, match="is not a size; write a name, or sums and products"):
        dim(text)


def test_reading_a_syntax_tree_refuses_with_a_value_error() -> None:
    with pytest.raises(ValueError, match="not a size"):
        dim_of_ast(ast.parse("[n]", mode="eval").body)
