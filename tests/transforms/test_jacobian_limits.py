"""Memory limits of Jacobians: smaller batches of unit vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, MemoryLimitError
from tests.transforms.test_grad_limits import X, energy, network, predicted

FORMS: tuple[Callable[..., Any], ...] = (tn.jacfwd, tn.jacrev, tn.jacobian)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    ("form", "function"), [*((form, network) for form in FORMS), (tn.hessian, energy)]
)
def test_a_jacobian_keeps_a_limit_by_batches_of_fewer_unit_vectors(
    form: Any, function: Any
) -> None:
    free = form(function)
    # Forward mode holds the operands of all layers: no derivative follows from a result alone.
    limit = int((0.96 if form is tn.jacfwd else 0.7) * predicted(free))
    limited = form(function, memory_limit=limit)
    assert predicted(limited) <= limit
    np.testing.assert_allclose(np.asarray(limited(X)), np.asarray(free(X)), rtol=1e-12)
    with pytest.raises(MemoryLimitError, match=f"{form.__name__}: needs"):
        form(function, memory_limit=99)(X)
    with pytest.raises(ConfigError, match=f"{form.__name__}: memory_limit must be"):
        form(function, memory_limit="many")
