"""A place for a faster way to apply array functions to tensors on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Apply = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""The result of an array function on operands and options; None if it has to be run op by op."""


def _op_by_op(
    function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> None:
    return None


class Shortcut:
    """The way that is installed, by a layer that can plan programs."""

    apply: Apply = staticmethod(_op_by_op)


SHORTCUT = Shortcut()
