"""Functions of NumPy that are made of other array functions.

They are written with the functions that users call, so that each takes arrays, traced values and
eager tensors, and is differentiated, batched and compiled as its parts are. `arguments` checks and
promotes operands; the other files are groups of functions by NumPy's topics.
"""

import typing as _typing

from tenferro.composed.dtypes import *
from tenferro.composed.index_tricks import *
from tenferro.composed.indexing import *
from tenferro.composed.manipulation import *
from tenferro.composed.polynomial import *
from tenferro.composed.reductions import *
from tenferro.composed.setops import *
from tenferro.composed.signal import *
from tenferro.composed.sorting import *
from tenferro.composed.statistics import *
from tenferro.composed.ufuncs import *
from tenferro.composed.vectorize import *
from tenferro.composed.windows import *
from tenferro.missing_names import public as _public

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars())
