"""Subscripts: what is read, and what is refused."""

import pytest

from tenferro.errors import SubscriptError
from tenferro.network import Subscripts


@pytest.mark.parametrize(
    ("text", "explicit"),
    [
        ("ij,jk", "ij,jk->ik"),
        ("ba", "ba->ab"),
        ("ii", "ii->"),
        ("Ba,cB", "Ba,cB->ac"),
        (" i j , jk -> ik ", "ij,jk->ik"),
        (",i", ",i->i"),
    ],
)
def test_implicit_output_is_the_labels_that_occur_once_in_order(text: str, explicit: str) -> None:
    assert str(Subscripts.parse(text)) == explicit
    assert Subscripts.parse(text) == Subscripts.parse(explicit)


def test_an_ellipsis_stands_for_the_leading_axes_left_over() -> None:
    parsed = Subscripts.parse("...j,jk", ranks=(3, 2))
    assert parsed.inputs == ((-2, -1, ord("j")), (ord("j"), ord("k")))
    assert parsed.output == (-2, -1, ord("k"))
    assert str(parsed) == "...j,jk->...k"


def test_ellipses_of_two_widths_meet_at_their_last_axes() -> None:
    parsed = Subscripts.parse("i...,...i->...", ranks=(3, 2))
    assert parsed.inputs == ((ord("i"), -2, -1), (-1, ord("i")))


def test_lists_of_integers_are_labels() -> None:
    assert Subscripts.from_labels([[0, 1], [1, 2]], [0, 2]).output == (0, 2)
    assert Subscripts.from_labels([[0, 1], [1, 2]]).output == (0, 2)
    assert Subscripts.from_labels([[..., 1]], [...], ranks=[3]).output == (-2, -1)


def test_equal_networks_are_equal_whatever_their_letters() -> None:
    one, other = Subscripts.parse("ij,jk->ik"), Subscripts.parse("ab,bc->ac")
    assert one != other
    assert one.canonical() == other.canonical()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i-j", "'-' in 'i-j' is not a label"),
        ("i>j->", "'>' in"),
        ("i..j->", r"'\.' in"),
        ("(ij,jk),kl", "NestedEinsum.parse reads an order"),
        ("ij->k", "output label 'k' of 'ij->k' occurs in no operand"),
        ("...i", "follows from the operands; pass their ranks"),
    ],
)
def test_invalid_subscripts_are_refused(text: str, message: str) -> None:
    with pytest.raises(SubscriptError, match=message):
        Subscripts.parse(text)


def test_labels_must_be_integers_from_0_on() -> None:
    with pytest.raises(SubscriptError, match="label -1 is negative"):
        Subscripts.from_labels([[-1]])
    with pytest.raises(SubscriptError, match="'a' is not a label"):
        Subscripts.from_labels([["a"]])
    with pytest.raises(SubscriptError, match=r"hold '\.\.\.' twice"):
        Subscripts.from_labels([[..., 0, ...]], ranks=[3])
