"""The settings of JAX: what tenferro computes does not depend on those of the user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax

from tenferro.errors import NotFiniteError

__all__ = ["is_stopped", "own_settings", "refuse_not_finite"]


@contextlib.contextmanager
def own_settings(precision: str | None = None) -> Iterator[None]:
    """JAX as tenferro uses it, whatever the user has set, in this thread and while this lasts.

    `precision` is that of the products in what is lowered, also those in functions of JAX.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.enable_x64(True))
        stack.enter_context(jax.disable_jit(False))
        stack.enter_context(jax.debug_nans(False))
        stack.enter_context(jax.debug_infs(False))
        stack.enter_context(jax.transfer_guard("allow"))
        stack.enter_context(jax.numpy_dtype_promotion("standard"))
        stack.enter_context(jax.numpy_rank_promotion("allow"))
        if precision is not None:
            stack.enter_context(jax.default_matmul_precision(precision))
        yield


def is_stopped(error: Exception) -> bool:
    """Whether a setting of the user has stopped a call or a transfer that is all right."""
    text = str(error)
    return "Disable jit is not supported" in text or (
        text.startswith("INVALID_ARGUMENT: Disallowed ") and " transfer" in text
    )


def refuse_not_finite(error: Exception) -> None:
    """Raise NotFiniteError if JAX has found a NaN or an infinity, which the user has asked for."""
    if isinstance(error, FloatingPointError) or type(error).__name__ == _FOUND:
        raise NotFiniteError(
            "run: a result has NaN or infinite elements, and jax_debug_nans or jax_debug_infs is "
            "on; look at values in tn.disable_jit(), or turn the setting of JAX off"
        ) from error


_FOUND = "InternalFloatingPointError"
"""What JAX raises in calls of compiled functions; the class is private."""
