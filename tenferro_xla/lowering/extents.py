"""Sizes as lowerings meet them: numbers, or expressions of `jax.export` in an artifact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jax import Array
from jax import numpy as jnp
from jax.export import is_symbolic_dim

from tenferro.errors import ExecutorError
from tenferro.ir import DimExpr, InputDim


def known(sizes: Iterable[Any]) -> bool:
    return not any(map(is_symbolic_dim, sizes))


def number(size: Any) -> np.ndarray | Array:
    """The value of a size, in int64."""
    return np.asarray(size, np.int64) if known([size]) else jnp.asarray(size, np.int64)


def of_operands(size: Any, shapes: Sequence[Sequence[Any]]) -> Any:
    """A size in an op's payload, in which `dim(i, axis)` is a size of operand i."""
    if not isinstance(size, DimExpr):
        return size

    def value(atom: Any) -> Any:
        if not isinstance(atom, InputDim):
            raise ExecutorError(f"export: the size {size} is not one of an operand")
        return shapes[atom.input][atom.axis]

    return sum(factor * math.prod(map(value, atoms)) for atoms, factor in size.terms)
