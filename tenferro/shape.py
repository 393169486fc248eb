"""Metadata of a tensor before it is computed: dtype, rank, and for each axis what is known.

The package can be called: `tn.shape(x)` is the shape of an array.
"""

import sys as _sys
import typing as _typing

from tenferro.ir import BOOL as BOOL
from tenferro.ir import COMPLEX64 as COMPLEX64
from tenferro.ir import COMPLEX128 as COMPLEX128
from tenferro.ir import FLOAT16 as FLOAT16
from tenferro.ir import FLOAT32 as FLOAT32
from tenferro.ir import FLOAT64 as FLOAT64
from tenferro.ir import INT32 as INT32
from tenferro.ir import INT64 as INT64
from tenferro.ir import MAX_EXTENT as MAX_EXTENT
from tenferro.ir import UINT32 as UINT32
from tenferro.ir import UINT64 as UINT64
from tenferro.ir import Atom as Atom
from tenferro.ir import CallableModule as _CallableModule
from tenferro.ir import Dim as Dim
from tenferro.ir import DimExpr as DimExpr
from tenferro.ir import DType as DType
from tenferro.ir import Exact as Exact
from tenferro.ir import Guard as Guard
from tenferro.ir import InputDim as InputDim
from tenferro.ir import Leaf as Leaf
from tenferro.ir import RuntimeAxis as RuntimeAxis
from tenferro.ir import RuntimeScalar as RuntimeScalar
from tenferro.ir import ShapeDtypeStruct as ShapeDtypeStruct
from tenferro.ir import ShapeExtent as ShapeExtent
from tenferro.ir import ShapeGuardContext as ShapeGuardContext
from tenferro.ir import SizeFunction as SizeFunction
from tenferro.ir import Source as Source
from tenferro.ir import SymDim as SymDim
from tenferro.ir import TensorInput as TensorInput
from tenferro.ir import TensorMeta as TensorMeta
from tenferro.ir import TensorSpec as TensorSpec
from tenferro.ir import Unknown as Unknown
from tenferro.ir import UpperBound as UpperBound
from tenferro.ir import annotate as annotate
from tenferro.ir import as_dtype as as_dtype
from tenferro.ir import assume_equal as assume_equal
from tenferro.ir import assume_not_one as assume_not_one
from tenferro.ir import assume_positive as assume_positive
from tenferro.ir import at_most as at_most
from tenferro.ir import bind as bind
from tenferro.ir import bring_guards as bring_guards
from tenferro.ir import calls as calls
from tenferro.ir import canonical as canonical
from tenferro.ir import collecting_guards as collecting_guards
from tenferro.ir import complex_dtype as complex_dtype
from tenferro.ir import declare as declare
from tenferro.ir import dependence_of as dependence_of
from tenferro.ir import describe as describe
from tenferro.ir import dim as dim
from tenferro.ir import dim_of_ast as dim_of_ast
from tenferro.ir import dtype_of_short_name as dtype_of_short_name
from tenferro.ir import floordiv as floordiv
from tenferro.ir import fresh_input as fresh_input
from tenferro.ir import grows as grows
from tenferro.ir import implies as implies
from tenferro.ir import integer_of as integer_of
from tenferro.ir import is_complex as is_complex
from tenferro.ir import is_floating as is_floating
from tenferro.ir import is_inexact as is_inexact
from tenferro.ir import is_integer as is_integer
from tenferro.ir import is_traced_value as is_traced_value
from tenferro.ir import leaves as leaves
from tenferro.ir import make_meta as make_meta
from tenferro.ir import maximum as maximum
from tenferro.ir import minimum as minimum
from tenferro.ir import name_sizes as name_sizes
from tenferro.ir import number_of as number_of
from tenferro.ir import product as product
from tenferro.ir import read_integer as read_integer
from tenferro.ir import real_dtype as real_dtype
from tenferro.ir import refuse_traced as refuse_traced
from tenferro.ir import runtime_dims as runtime_dims
from tenferro.ir import same_size as same_size
from tenferro.ir import short_name as short_name
from tenferro.ir import substitute as substitute
from tenferro.ir import sum_of as sum_of
from tenferro.ir import symbol as symbol
from tenferro.ir import type_of as type_of
from tenferro.missing_names import public as _public

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars())

_sys.modules[__name__].__class__ = _CallableModule
