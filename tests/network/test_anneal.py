"""Annealing."""

import numpy as np
import opt_einsum

from tenferro.network import (
    Subscripts,
)
from tenferro.network.contraction_tree import ContractionTree, left_to_right, pairs_of_path
from tenferro.network.reconfigure import annealed


def test_annealing_finds_the_best_order_of_a_chain() -> None:
    generator = np.random.default_rng(0)
    sizes = {label: int(size) for label, size in enumerate(generator.integers(2, 60, 13))}
    chain = Subscripts(tuple((k, k + 1) for k in range(12)), (0, 12))
    start = ContractionTree(chain, sizes, left_to_right(12))
    found = ContractionTree(chain, sizes, annealed(start, 0, 0.0, 300))
    best = opt_einsum.DynamicProgramming(minimize="flops")
    inputs = [frozenset(term) for term in chain.inputs]
    optimal = pairs_of_path(best(inputs, frozenset(chain.output), sizes, None), 12)
    assert found.flops == ContractionTree(chain, sizes, optimal).flops < start.flops
    assert annealed(start, 5, 16.0, 50) == annealed(start, 5, 16.0, 50)
