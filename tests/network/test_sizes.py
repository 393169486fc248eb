"""Sizes of labels, from shapes."""

import pytest

from tenferro.errors import ShapeError, SubscriptError
from tenferro.network import Subscripts
from tenferro.network.subscripts import build_size_dict


def test_unequal_sizes_name_label_operands_and_axes() -> None:
    message = (
        "label 'j' of ij,jk->ik has size 3 on axis 1 of operand 0 and size 4 on axis 0 of operand 1"
    )
    with pytest.raises(ShapeError, match=message):
        build_size_dict(Subscripts.parse("ij,jk->ik"), [(2, 3), (4, 5)])


def test_ranks_and_counts_must_fit() -> None:
    with pytest.raises(
        SubscriptError, match=r"operand 1 has 3 axes \[3,4,5\], but ij,jk->ik gives it 2"
    ):
        build_size_dict(Subscripts.parse("ij,jk->ik"), [(2, 3), (3, 4, 5)])
    with pytest.raises(SubscriptError, match="names 2 operands, but 1 are given"):
        build_size_dict(Subscripts.parse("ij,jk->ik"), [(2, 3)])


def test_a_size_of_1_gives_way() -> None:
    sizes = build_size_dict(Subscripts.parse("ij,jk->ik"), [(2, 1), (3, 4)])
    assert sizes[ord("j")] == 3


def test_axes_of_a_diagonal_have_equal_sizes() -> None:
    for text, shape in (("ii->", (3, 1)), ("ii->i", (1, 3)), ("iji->j", (2, 4, 3))):
        with pytest.raises(
            ShapeError, match=r"label 'i' of .* is the diagonal of axes 0 and \d of"
        ):
            build_size_dict(Subscripts.parse(text), [shape])
    sizes = build_size_dict(Subscripts.parse("ii,ij->j"), [(1, 1), (3, 4)])
    assert sizes[ord("i")] == 3
