"""`jax.custom_batching`: functions whose batches a rule computes."""

from __future__ import annotations

from tenferro.missing_names import attributes
from tenferro.transforms import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]

custom_vmap.__module__ = __name__
sequential_vmap.__module__ = __name__

__getattr__, __dir__ = attributes("tenferro.custom_batching", __all__)
