"""Comparing sizes that may not be known yet."""

from __future__ import annotations

from tenferro.shape import Dim


def sizes_differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes certainly differ, for checks of inputs in `infer_output_meta`.

    Sizes that are not known yet may turn out equal. Types are inferred again when the sizes of a
    program are known; a difference is then reported.

    >>> from tenferro.shape import dim
    >>> n = dim("n")
    >>> sizes_differ(2, 3), sizes_differ(n, n + 1), sizes_differ(n, 3), sizes_differ(n, dim("m"))
    (True, True, False, False)
    """
    gap = a - b
    return isinstance(gap, int) and gap != 0
