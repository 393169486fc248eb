"""What tests of kept results share."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro as tn
import tenferro_xla as txla
from tenferro_xla.placement import LARGE

N = LARGE // 8
X = np.arange(N, dtype=np.float64)
ROUNDS = 6
ENOUGH = 1 << 30
"""Bytes that an executor may keep, however much memory the machine has free."""


def address(tensor: tn.Tensor) -> int:
    return int(tensor._buffer.unsafe_buffer_pointer())


def causes(executor: txla.XlaExecutor) -> list[str]:
    return [event.cause for event in executor.explain().events]


def shifted(executor: txla.XlaExecutor) -> Any:
    return tn.jit(lambda x, by: x + by, executor=executor)


def refusing(executor: txla.XlaExecutor) -> Any:
    """Returns its argument, from Python code that refuses one whose first number is negative."""

    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise ArithmeticError("less than zero")
        return x

    result = tn.ShapeDtypeStruct(X.shape, X.dtype)
    return tn.jit(lambda x: tn.pure_callback(checked, result, x), executor=executor)
