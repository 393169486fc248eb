"""Batches of graphs, generic over the op set: one graph for all entries.

One file, `batch`.
"""

from tenferro.batching.batch import batch

__all__ = ["batch"]
