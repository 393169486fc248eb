"""The names of `tenferro.fft` at the path that they have in JAX."""

import typing as _typing

from tenferro.fft import *

if not _typing.TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    from tenferro.fft import __all__ as __all__
    from tenferro.fft import __getattr__ as __getattr__
