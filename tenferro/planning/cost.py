"""What a contraction order takes on a device: the steps of a tree under the cost model."""

from __future__ import annotations

from tenferro.compiler import DeviceCosts
from tenferro.planning.tree import ContractionTree, Step


def step_seconds(costs: DeviceCosts, tree: ContractionTree, step: Step, itemsize: int = 8) -> float:
    """Expected time of one step; a step that sums over nothing is a product of elements."""
    batch, m, n, k = tree.gemm(step)
    return costs.contraction(batch, m, n, k if step.contracted else 1, itemsize)


def tree_seconds(costs: DeviceCosts, tree: ContractionTree, itemsize: int = 8) -> float:
    """Expected time of all steps."""
    return sum(step_seconds(costs, tree, step, itemsize) for step in tree.steps)
