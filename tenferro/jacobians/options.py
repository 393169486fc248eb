"""What users say of how a Jacobian is computed."""

from __future__ import annotations

from typing import Literal

from tenferro.errors import ADError
from tenferro.jacobians.modes import Mode
from tenferro.shape import integer_of

Sparsity = Literal["auto"] | None


def as_mode(mode: object) -> Mode:
    """The mode.

    Raises:
        ADError: there is no such mode.
    """
    if mode == "auto" or mode == "forward" or mode == "reverse" or mode == "cross":
        return mode
    raise ADError(f"jacobian: mode must be 'auto', 'forward', 'reverse' or 'cross', got {mode!r}")


def as_sparsity(name: str, sparsity: object, mode: Mode = "auto") -> Sparsity:
    """The kind of sparsity.

    Raises:
        ADError: there is no such kind, or the mode is `cross`.
    """
    if sparsity is None:
        return None
    if sparsity != "auto":
        raise ADError(f"{name}: sparsity must be None or 'auto', got {sparsity!r}")
    if mode == "cross":
        raise ADError(f"{name}: mode='cross' is for dense Jacobians; leave sparsity out")
    return "auto"


def as_chunk_size(name: str, chunk_size: object) -> int | None:
    """The chunk size.

    Raises:
        ADError: it is not a positive integer.
    """
    if chunk_size is None:
        return None
    number = integer_of(chunk_size)
    if number is None or number < 1:
        raise ADError(f"{name}: chunk_size must be a positive integer or None, got {chunk_size!r}")
    return number
