"""Predicted run time of a contraction order on a device."""

from __future__ import annotations

from tenferro.compiler import DeviceCosts
from tenferro.planning.tree import ContractionTree, Step


def step_seconds(costs: DeviceCosts, tree: ContractionTree, step: Step, itemsize: int = 8) -> float:
    """Predicted time of one step; a step without contracted labels is an elementwise product."""
    batch, m, n, k = tree.gemm(step)
    return costs.contraction(batch, m, n, k if step.contracted else 1, itemsize)


def tree_seconds(costs: DeviceCosts, tree: ContractionTree, itemsize: int = 8) -> float:
    """Predicted time of all steps."""
    return sum(step_seconds(costs, tree, step, itemsize) for step in tree.steps)
