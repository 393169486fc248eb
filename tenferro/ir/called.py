"""`tn.shape(x)`, as in NumPy: the package itself can be called, since it has that name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["CallableModule"]


class CallableModule(ModuleType):
    """A module that is also the function `shape`."""

    def __call__(self, a: Any) -> tuple[Any, ...]:
        """The sizes of the axes of an array, a number, or nested lists.

        >>> import tenferro as tn
        >>> tn.shape([[1, 2, 3]])
        (1, 3)
        """
        return tuple(a.shape) if hasattr(a, "shape") else np.shape(a)
