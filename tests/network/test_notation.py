"""Subscripts, nested orders, sizes and paths: what is read, and what is refused."""

import pytest

from tenferro.errors import PathError, ShapeError, SubscriptError
from tenferro.network import ContractionTree, NestedEinsum, Subscripts
from tenferro.planning import build_size_dict, left_to_right, pairs_of_path, path_of_pairs


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


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("((ij,jk),kl)->il", ((0, 1), (0, 1))),
        ("(ij,(jk,kl))->il", ((1, 2), (0, 1))),
        ("(ij,jk,kl)->il", ((0, 1, 2),)),
        ("ij,(jk,kl)->il", ((1, 2), (0, 1))),
        ("((ij),jk)->ik", ((0, 1),)),
        ("(i,j),(k,l)->ijkl", ((0, 1), (0, 1), (0, 1))),
    ],
)
def test_parentheses_give_the_order(text: str, path: tuple[tuple[int, ...], ...]) -> None:
    assert NestedEinsum.parse(text).path == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((ij,jk)->ik", r"'\(' without '\)'"),
        ("ij,jk)->ik", r"'\)' without '\('"),
        ("(ij)(jk)->ik", r"expected ',' before '\('"),
        ("(ij)jk->ik", r"expected ',' after '\)'"),
        ("(ij,jk)->(ik)", "parentheses in its output"),
    ],
)
def test_parentheses_that_do_not_match_are_refused(text: str, message: str) -> None:
    with pytest.raises(SubscriptError, match=message):
        NestedEinsum.parse(text)


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


def test_a_tree_knows_its_costs() -> None:
    tree = ContractionTree.of(
        Subscripts.parse("bij,bjk,kl->bil"), [(2, 3, 4), (2, 4, 5), (5, 6)], [(0, 1), (0, 1)]
    )
    assert [tree.gemm(step) for step in tree.steps] == [(2, 3, 5, 4), (1, 6, 6, 5)]
    assert tree.flops == 2 * 2 * 3 * 4 * 5 + 2 * 2 * 3 * 5 * 6
    assert tree.largest == 36
    assert tree.peak == 30 + 36
    assert tree.path == ((0, 1), (0, 1))


def test_a_hyper_edge_stays_until_its_last_operand() -> None:
    tree = ContractionTree.of(Subscripts.parse("i,i,i->"), [(3,)] * 3, [(0, 1), (0, 1)])
    first, last = tree.steps
    assert (first.batch, first.contracted) == ((ord("i"),), ())
    assert (last.batch, last.contracted) == ((), (ord("i"),))


def test_a_tree_needs_sizes_that_are_known() -> None:
    from_symbols = [("n", 3)]
    with pytest.raises(ShapeError, match="needs known sizes, but one is n"):
        ContractionTree.of(Subscripts.parse("ij->"), from_symbols, [])  # type: ignore[arg-type]
