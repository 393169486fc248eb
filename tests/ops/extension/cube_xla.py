"""The lowering of `Cube`, imported when XLA first meets the family."""

from __future__ import annotations

from typing import Any


def lower_cube(op: Any, x: Any) -> Any:
    return op.scale * x * x * x
