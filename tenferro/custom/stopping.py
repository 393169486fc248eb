"""stop_gradient: values that derivatives treat as constant."""

from __future__ import annotations

from typing import Any, TypeVar

from tenferro.dispatch import OpFunction, apply
from tenferro.ops import STOP_GRADIENT
from tenferro.traced import flatten, leaf_meta, unflatten
from tenferro.values import Tensor

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """`x`, which derivatives treat as constant.

    Args:
        x: a tree of arrays.

    Raises:
        PytreeError: a leaf is not an array.

    >>> import tenferro as tn
    >>> tn.grad(lambda x: x * tn.stop_gradient(x))(3.0)
    Tensor(3.)
    """
    leaves, tree = flatten(x)
    result: T = unflatten(tree, [_stopped(leaf, place) for place, leaf in enumerate(leaves)])
    return result


def _stopped(leaf: Any, place: int) -> Any:
    leaf_meta(leaf, f"stop_gradient: leaf {place}")
    is_number = isinstance(leaf, bool | int | float | complex)
    return apply(OpFunction(STOP_GRADIENT), Tensor(leaf) if is_number else leaf)
