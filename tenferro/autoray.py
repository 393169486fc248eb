"""tenferro as a backend of autoray, and so of quimb: importing this module registers it.

A name of tenferro that is used after `import autoray` imports it. autoray finds the functions of
`tenferro` by their names; registered is what it expects to differ from NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import autoray


def _thin(svd: Callable[..., Any]) -> Callable[..., Any]:
    """The function with autoray's default, the thin form."""

    @wraps(svd)
    def thin(x: Any, full_matrices: bool = False, **options: Any) -> Any:
        return svd(x, full_matrices=full_matrices, **options)

    return thin


autoray.register_function("tenferro", "linalg.svd", wrapper=_thin)
