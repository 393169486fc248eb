"""`jax.experimental`: calls for their effects while a program runs; differential equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenferro.experimental import ode
from tenferro.missing_names import attributes
from tenferro.transforms import io_callback

__all__ = ["io_callback", "ode"]

io_callback.__module__ = __name__

MISSING: dict[str, str] = {
    "pallas": "write an extension; XLA makes the kernels of its ops",
    "sparse": "tn.jacobian(sparsity='auto') returns sparse matrices; there are no others yet",
    "jet": "use tn.jet",
    "checkify": "check values with tn.debug.callback, or after the call",
    "enable_x64": "64 bits stay 64 bits; tn.enable_x64(True) is accepted",
    "disable_x64": "64 bits stay 64 bits; ask for dtypes of 32 bits",
    "multihost_utils": "use tn.sharding.from_local and tn.sharding.gather",
    "mesh_utils": "use tn.sharding.make_mesh",
    "compilation_cache": "use tn.cache(path)",
    "serialize_executable": "use tn.save, or tn.cache(path)",
}
"""Names of `jax.experimental`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.experimental", __all__, MISSING)
