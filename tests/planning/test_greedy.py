"""The greedy planner."""

from tenferro.network import (
    Subscripts,
)
from tenferro.planning.greedy import greedy_pairs


def test_disconnected_parts_and_scalars_are_multiplied_last() -> None:
    network = Subscripts.parse("ij,jk,ab,bc,,z->ikacz")
    sizes = {label: 3 for term in network.inputs for label in term}
    assert len(greedy_pairs(network, sizes)) == 5
