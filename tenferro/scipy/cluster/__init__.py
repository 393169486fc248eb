"""`jax.scipy.cluster`: `vq`, vector quantization."""

from typing import TYPE_CHECKING

from tenferro.missing_names import attributes
from tenferro.scipy.cluster import vq

__all__ = ["vq"]


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.cluster", __all__)
