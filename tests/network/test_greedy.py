"""The greedy planner."""

import pytest

from tenferro.network import Subscripts, search
from tenferro.network.search import greedy_pairs


def test_disconnected_parts_and_scalars_are_multiplied_last() -> None:
    network = Subscripts.parse("ij,jk,ab,bc,,z->ikacz")
    sizes = {label: 3 for term in network.inputs for label in term}
    assert len(greedy_pairs(network, sizes)) == 5


def test_pairs_to_score_do_not_grow_with_the_square_of_those_that_share_a_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored = 0
    score = search._Greedy.score

    def counted(self: search._Greedy, a: int, b: int) -> float:
        nonlocal scored
        scored += 1
        return score(self, a, b)

    monkeypatch.setattr(search._Greedy, "score", counted)
    count = 600  # a chain, of which every second tensor has the label 0
    terms = [(i + 1, i + 2) if i % 2 else (0, i + 1, i + 2) for i in range(count)]
    network = Subscripts(tuple(terms), (0, 1, count + 1))
    pairs = greedy_pairs(network, dict.fromkeys(range(count + 2), 2))
    assert len(pairs) == count - 1
    assert scored < 3 * search.CROWD * count


def test_values_that_share_a_label_are_contracted_although_they_are_not_the_smallest() -> None:
    count = 3 * search.CROWD
    terms = [(0, i + 1) for i in range(count)] + [(1,)]
    network = Subscripts(tuple(terms), tuple(range(1, count + 1)))
    sizes = {0: 2} | {i + 1: 2 + i % 3 for i in range(count)}
    pairs = greedy_pairs(network, sizes)
    assert sorted(value for pair in pairs for value in pair) == list(range(2 * len(pairs)))


def test_a_label_that_all_operands_have_does_not_change_the_order() -> None:
    plain = Subscripts.parse("ab,bc,cd,de->ae")
    batched = Subscripts.parse("xab,xbc,xcd,xde->xae")
    sizes = dict(zip(map(ord, "abcdex"), (9, 2, 9, 2, 9, 5), strict=True))
    assert greedy_pairs(plain, sizes) == greedy_pairs(batched, sizes)
