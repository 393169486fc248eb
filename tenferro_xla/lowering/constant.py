"""Constant."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.ops import Constant
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Constant) -> Array:
    # JAX takes a NumPy array wherever it takes one of its own, and makes it a literal of StableHLO.
    return np.asarray(op.value)
