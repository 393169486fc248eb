"""Operands of equal labels are multiplied before a planner sees the network."""

import numpy as np
import pytest

import tenferro as tn
from tenferro.network import Subscripts
from tenferro.network.contraction_tree import ContractionTree, Merged
from tenferro.network.search import ContractionOptimizerOptions, find_tree


def test_a_network_of_different_operands_stays_as_it_is() -> None:
    network = Subscripts.parse("ab,bc,cd->ad")
    merged = Merged.of(network)
    assert (merged.subscripts, merged.before) == (network, ())
    assert merged.expand(((0, 1), (2, 3))) == ((0, 1), (2, 3))


def test_products_may_leave_further_equal_operands() -> None:
    merged = Merged.of(Subscripts.parse("ab,ab,a,a,ca->c"))  # ab,ab is a matrix, then a vector
    assert len(merged.subscripts.inputs) == 2
    assert merged.subscripts.output == (ord("c"),)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (",".join(["a"] * 40) + "->a", [(3,)] * 40),
        (",".join(["a"] * 5 + [""] * 4) + "->", [(3,)] * 5 + [()] * 4),
        ("ab,ba,ab,bc,cb,ac->", [(2, 3), (3, 2), (2, 3), (3, 4), (4, 3), (2, 4)]),
        ("aab,ba,bc,c,c->a", [(2, 2, 3), (3, 2), (3, 4), (4,), (4,)]),
        (",".join("x" + letter for letter in "abcdefgh") + "->", [(4, 2)] * 8),
    ],
)
def test_the_order_is_one_of_the_whole_network(text: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1.5, shape) for shape in shapes]
    for optimize in ("auto", "greedy", "optimal"):
        found = tn.einsum(text, *arrays, optimize=optimize)
        np.testing.assert_allclose(
            np.asarray(found), np.einsum(text, *arrays, optimize="greedy"), rtol=1e-12
        )


def test_many_vectors_of_one_label_are_planned_as_one() -> None:
    network = Subscripts(((0,),) * 400, (0,))
    tree = find_tree(network, {0: 3}, ContractionOptimizerOptions())
    assert isinstance(tree, ContractionTree)
    assert (len(tree.pairs), tree.flops) == (399, 3 * 399)
