"""Metadata of a tensor before it is computed: dtype, rank, and for each axis what is known.

The package can be called: `tn.shape(x)` is the shape of an array.
"""

import sys as _sys
import types as _types
import typing as _typing

import numpy as _np

from tenferro.ir.dims import *
from tenferro.ir.dtypes import *
from tenferro.ir.inference import *
from tenferro.ir.types import *
from tenferro.missing_names import public as _public

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = [name for name in _public(vars(), home="tenferro.shape") if name != "ASSUMED"]


class _CallableModule(_types.ModuleType):
    """The module, which is also the function `shape`."""

    def __call__(self, a: _typing.Any) -> tuple[_typing.Any, ...]:
        """The sizes of the axes of an array, a number, or nested lists.

        >>> import tenferro as tn
        >>> tn.shape([[1, 2, 3]])
        (1, 3)
        """
        return tuple(a.shape) if hasattr(a, "shape") else _np.shape(a)


_sys.modules[__name__].__class__ = _CallableModule
