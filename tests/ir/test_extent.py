import pytest

from tenferro.shape import Exact, ShapeExtent, Unknown, UpperBound, describe, dim


@pytest.mark.parametrize(
    ("extent", "text", "words"),
    [
        (Exact(3), "3", "3"),
        (Exact(dim("n")), "n", "symbolic n"),
        (UpperBound(8), "<=8", "at most 8 (upper bound)"),
        (UpperBound(dim("2*n")), "<=2*n", "at most 2*n (upper bound)"),
        (Unknown(), "?", "unknown"),
    ],
)
def test_an_extent_in_text_and_in_words(extent: ShapeExtent, text: str, words: str) -> None:
    assert str(extent) == text
    assert describe(extent) == words


def test_guarantees_are_part_of_an_extent() -> None:
    assert len({Exact(3), UpperBound(3), Unknown(), UpperBound(4)}) == 4
    assert Exact(dim("n + 1")) == Exact(dim("1 + n"))
    assert Unknown() == Unknown()
