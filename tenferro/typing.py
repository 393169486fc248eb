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

from tenferro.ir.typing import *
from tenferro.ir.typing import __all__ as __all__
