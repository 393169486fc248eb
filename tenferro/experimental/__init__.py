"""`jax.experimental`: `ode`, differential equations."""

from typing import TYPE_CHECKING

from tenferro.experimental import ode
from tenferro.missing_names import refusal

__all__ = ["ode"]


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__ = refusal("tenferro.experimental", __all__)
