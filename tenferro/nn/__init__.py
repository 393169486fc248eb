"""Activation functions, with the names, parameters and defaults of `jax.nn`.

Those that `tn` has too are the same functions. `MISSING` lists what is left
out, with reasons. `tn.nn.initializers` makes initial weights.

>>> tn.nn.relu([-1.0, 2.0])
Tensor([0., 2.])
>>> tn.nn.relu is tn.relu
True
"""

import typing as _typing

from tenferro.missing_names import attributes as _attributes
from tenferro.missing_names import public as _public
from tenferro.nn import initializers as initializers
from tenferro.nn.activations import *
from tenferro.nn.attention import *

MISSING: dict[str, str] = dict.fromkeys(
    ("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"),
    "it needs numbers of 4 and 8 bits, which are not there",
)
"""Names of `jax.nn`, and what to do instead."""


if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = _public(vars(), "initializers", home="tenferro.nn")
    __getattr__, __dir__ = _attributes("tenferro.nn", __all__, MISSING)
