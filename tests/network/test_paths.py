"""Paths and pairs."""

import pytest

from tenferro.errors import PathError
from tenferro.network.contraction_tree import left_to_right, pairs_of_path, path_of_pairs


def test_paths_and_pairs_are_two_ways_to_say_one_thing() -> None:
    path = ((0, 3), (1, 2), (0, 1))
    pairs = pairs_of_path(path, 4)
    assert pairs == ((0, 3), (2, 4), (1, 5))
    assert path_of_pairs(pairs, 4) == ((0, 3), (1, 2), (0, 1))
    assert left_to_right(4) == ((0, 1), (4, 2), (5, 3))
    assert pairs_of_path([(0, 1, 2)], 3) == ((0, 1), (3, 2))
    assert pairs_of_path([(0,), (0, 1)], 2) == ((1, 0),)
    assert pairs_of_path([(-1, -2)], 2) == ((1, 0),)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([(0, 0), (0, 1)], r"step 0 of the path, \(0, 0\), names a value twice"),
        ([(0, 3)], "step 0 of the path names position 3, but 3 values are left"),
        ([(0, 1)], "leaves 2 of 3 operands uncontracted"),
        ([()], "step 0 of the path names no operand"),
        ([("a", 1)], "not a group of positions"),
        ([0], "not a group of positions"),
    ],
)
def test_a_bad_path_is_refused(path: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(PathError, match=message):
        pairs_of_path(path, 3)
