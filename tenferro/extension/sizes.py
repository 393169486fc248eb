"""Comparing sizes that may not be known yet."""

from __future__ import annotations

from tenferro.shape import Dim


def sizes_differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes are certainly not the same; what `infer_output_meta` refuses inputs by.

    Sizes that are not known yet may turn out equal. Types are inferred again when the sizes of a
    program are known, so that nothing is missed.

    >>> from tenferro.shape import dim
    >>> n = dim("n")
    >>> sizes_differ(2, 3), sizes_differ(n, n + 1), sizes_differ(n, 3), sizes_differ(n, dim("m"))
    (True, True, False, False)
    """
    gap = a - b
    return isinstance(gap, int) and gap != 0
