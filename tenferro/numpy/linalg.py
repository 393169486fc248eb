"""The names of `tenferro.linalg` at the path that they have in JAX."""

import typing as _typing

from tenferro.linalg import *

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    from tenferro.linalg import __all__ as __all__
    from tenferro.linalg import __getattr__ as __getattr__
