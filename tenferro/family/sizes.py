"""Comparing sizes that may not be known yet."""

from __future__ import annotations

from tenferro.shape import Dim, assume_equal, canonical


def sizes_differ(a: Dim, b: Dim, reason: str = "sizes") -> bool:
    """Whether two sizes certainly differ, for checks of inputs in `infer_output_meta`.

    Sizes that are not known yet may turn out equal. The program that records the op assumes that
    they are, and refuses a run in which they differ, also where nothing reads the result. Ask only
    of sizes that must be equal. `reason` says what needs it.

    >>> from tenferro.shape import dim
    >>> n = dim("n")
    >>> sizes_differ(2, 3), sizes_differ(n, n + 1), sizes_differ(n, 3), sizes_differ(n, dim("m"))
    (True, True, False, False)
    """
    if canonical(a, b) is None:
        return True
    assume_equal(a, b, reason)
    return False
