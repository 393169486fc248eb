"""The cost model: what a contraction is expected to take on a machine."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.network.tree import ContractionTree, Step


@dataclass(frozen=True, slots=True)
class CostModel:
    """Rates of a machine, by which plans are compared. Their ratios matter, not their units.

    A step takes the larger of its arithmetic and its traffic, and a fixed time. A matrix product
    whose sides are short runs at a fraction of the full rate: `short` is the length at which half
    of it is lost.

    Attributes:
        flops: multiplications and additions a second in large products of 64-bit reals.
        bandwidth: bytes a second of reads and writes.
        overhead: seconds of each step, whatever its size.
        short: length of a side at which a product runs at half the rate.
    """

    flops: float = 6e10
    bandwidth: float = 8e9
    overhead: float = 2e-6
    short: float = 6.0

    @property
    def identity(self) -> tuple[float, ...]:
        """What a plan made with this model depends on."""
        return (self.flops, self.bandwidth, self.overhead, self.short)

    def step_seconds(self, tree: ContractionTree, step: Step, itemsize: int = 8) -> float:
        """Expected time of one step."""
        batch, m, n, k = tree.gemm(step)
        traffic = itemsize * batch * (m * k + k * n + m * n) / self.bandwidth
        if not step.contracted:
            return traffic + self.overhead
        efficiency = 1.0
        for side in (m, n, k):
            efficiency *= side / (side + self.short)
        arithmetic = 2.0 * batch * m * n * k / (self.flops * max(efficiency, 1e-3))
        return max(arithmetic, traffic) + self.overhead

    def tree_seconds(self, tree: ContractionTree, itemsize: int = 8) -> float:
        """Expected time of all steps."""
        return sum(self.step_seconds(tree, step, itemsize) for step in tree.steps)


DEFAULT_MODEL = CostModel()
