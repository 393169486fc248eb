"""An eager runtime that checks the gauge raises an error where a derivative does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, GaugeError

UNDEFINED: dict[str, Callable[[Any], Any]] = {
    "eigh: ": lambda x: tn.sum(tn.linalg.eigh(x).eigenvectors[0] ** 3),
    "svd: ": lambda x: tn.sum(tn.linalg.svd(x, full_matrices=False).U[0] ** 3),
    "eig: ": lambda x: tn.sum(tn.abs(tn.linalg.eig(x).eigenvalues)),
}
EQUAL = np.eye(2)


@pytest.mark.parametrize("name", UNDEFINED)
def test_backward_through_what_has_no_derivative_is_an_error_or_nan(name: str) -> None:
    for check_gauge in (True, False):
        runtime = tn.EagerRuntime(check_gauge=check_gauge)
        x = runtime.variable(EQUAL)
        loss = UNDEFINED[name](x)
        if check_gauge:
            with pytest.raises(GaugeError, match=name + "the derivative does not exist"):
                loss.backward()
        else:
            loss.backward()
            assert np.isnan(x.grad.numpy()).all()
    assert issubclass(GaugeError, ADError)


def test_a_derivative_that_exists_and_nan_that_was_there_before_are_no_error() -> None:
    runtime = tn.EagerRuntime(check_gauge=True)
    x = runtime.variable(EQUAL)
    tn.sum(tn.linalg.eigvalsh(x) ** 2).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * EQUAL)
    y = runtime.variable(EQUAL * np.nan)
    tn.sum(tn.linalg.eigvalsh(y) ** 2).backward()
    assert np.isnan(y.grad.numpy()).any()
