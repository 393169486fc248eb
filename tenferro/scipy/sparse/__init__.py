"""`jax.scipy.sparse`: `linalg`, systems of equations by iterations."""

from typing import TYPE_CHECKING

from tenferro.missing_names import attributes
from tenferro.scipy.sparse import linalg

__all__ = ["linalg"]


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.sparse", __all__)
