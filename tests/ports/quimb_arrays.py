"""A plugin of pytest by which quimb's tests run with tensors: networks hold no arrays of NumPy.

Of each test function the first two cases run.

    pytest -p tests.ports.quimb_arrays TESTS

TESTS is the folder `tests` of quimb's source distribution, under another name, since that is taken.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import pytest
from quimb.tensor import array_ops, tensor_core

import tenferro as tn
import tenferro.autoray  # what autoray expects to differ from NumPy


def asarray(array: Any) -> Any:
    """What quimb puts into a network: an array of NumPy as a tensor."""
    found = array_ops.asarray(array)
    return tn.asarray(found) if type(found) is numpy.ndarray else found


tensor_core.asarray = asarray


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave two cases of each test function."""
    counts: Counter[str] = Counter()
    chosen = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        counts[name] += 1
        if counts[name] <= 2:
            chosen.append(item)
    items[:] = chosen
