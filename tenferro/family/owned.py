"""Arrays that functions of others return: they become results only if nobody else has them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def owned(results: object) -> list[Any]:
    """The results as a new list, in which arrays that somebody else may change are copies.

    Nobody else has an array that owns its memory and that only the list refers to. The caller must
    hold no reference to `results`.
    """
    values = [*results] if isinstance(results, tuple | list) else [results]
    del results
    for place, count in enumerate(_references(values)):
        value = values[place]
        if isinstance(value, np.ndarray) and (count > _ALONE or not value.flags.owndata):
            values[place] = value.copy()
    return values


def _references(values: list[Any]) -> list[int]:
    """How many references there are to each value."""
    return [sys.getrefcount(values[place]) for place in range(len(values))]


_ALONE = _references([np.empty(0)])[0]
