"""Trees and their costs."""

import pytest

from tenferro.errors import ShapeError
from tenferro.network.contraction_tree import ContractionTree, concrete_sizes
from tenferro.network.subscripts import Subscripts


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


def test_sizes_of_a_tree_come_from_shapes() -> None:
    assert concrete_sizes(Subscripts.parse("ab->"), [(2, 3)]) == {97: 2, 98: 3}
