"""What JAX computes: the other side of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""For a program that is compiled for one run."""


def in_jax(compute: Callable[..., Any], *args: Any) -> Any:
    """What `compute(*args)` gives in 64-bit mode, as NumPy arrays.

    One program computes it: JAX would compile each op for itself, which takes far longer.
    """
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(compute, compiler_options=QUICKLY)(*args))
