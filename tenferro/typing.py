"""The types of public signatures, for annotations of your own functions.

Array functions take `ArrayLike` and return `AnyTensor`. `Array` is any of the four kinds of array:
`Tensor`, `TracedTensor`, `EagerTensor` and NumPy's. `Array` and `AnyTensor` are protocols: an
object conforms if it has the members, whatever its class inherits.

>>> import tenferro as tn
>>> from tenferro.typing import AnyTensor, Array
>>> def energy(x: Array, weight: float = 0.5) -> AnyTensor:
...     return weight * tn.sum(x * x)
>>> tn.grad(energy)(tn.array([1.0, 2.0]))
Tensor([1., 2.])
"""

import typing as _typing

from tenferro.ir import AnyTensor as AnyTensor
from tenferro.ir import Array as Array
from tenferro.ir import ArrayLike as ArrayLike
from tenferro.ir import ArrayMethods as ArrayMethods
from tenferro.ir import Axis as Axis
from tenferro.ir import DTypeLike as DTypeLike
from tenferro.ir import Elements as Elements
from tenferro.ir import ElementsAt as ElementsAt
from tenferro.ir import Index as Index
from tenferro.ir import Integers as Integers
from tenferro.ir import NestedSequence as NestedSequence
from tenferro.ir import Number as Number
from tenferro.ir import Order as Order
from tenferro.ir import PyTree as PyTree
from tenferro.ir import Shape as Shape
from tenferro.ir import Size as Size
from tenferro.ir import SupportsArray as SupportsArray
from tenferro.ir import SupportsDLPack as SupportsDLPack
from tenferro.ir import SupportsDType as SupportsDType
from tenferro.missing_names import public as _public

if not _typing.TYPE_CHECKING:  # type checkers read the imports
    __all__ = _public(vars())
