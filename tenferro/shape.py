"""Metadata of a tensor before it is computed: dtype, rank, and for each axis what is known.

The package can be called: `tn.shape(x)` is the shape of an array.
"""

import sys as _sys
import typing as _typing

from tenferro.ir.called import CallableModule as _CallableModule
from tenferro.ir.dims import *
from tenferro.ir.dtypes import *
from tenferro.ir.inference import *
from tenferro.ir.types import *
from tenferro.missing_names import public as _public

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = [name for name in _public(vars()) if name != "ASSUMED"]

_sys.modules[__name__].__class__ = _CallableModule
