"""What the tests of the contract of extension ops share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tenferro as tn
from tenferro.errors import (
    ExtensionError,
    UnsupportedADRuleError,
)
from tenferro.extension import (
    ExtensionRuleSet,
    apply,
)
from tests.testing.families import (
    First,
    Pair,
    runtimes,
)

N3 = tn.TensorSpec(("n", 3))
SPECS = (N3, N3)


@contextmanager
def refused(
    error: type[ExtensionError] | type[UnsupportedADRuleError], family: str, match: str
) -> Iterator[Any]:
    """The error carries the family id, as an attribute and in its text."""
    with pytest.raises(error, match=match) as raised:
        yield raised
    assert raised.value.family_id == family
    assert family in str(raised.value)


def context(rules: ExtensionRuleSet | None = None) -> tn.AdContext:
    return tn.AdContext.builder().with_extension_rules(rules or ExtensionRuleSet()).build()


def native(register: Any = None) -> tn.GraphExecutor:
    executor = tn.GraphExecutor(tn.NumpyBackend())
    executor.register_extension(register or runtimes([Pair.FAMILY_ID, First.FAMILY_ID]))
    return executor


def pair(x: Any, y: Any, scale: float = 2.0) -> Any:
    return apply(Pair(scale), x, y)


def inputs(*names: str, shape: Any = ("n", 3)) -> list[tn.TracedTensor]:
    return [tn.TracedTensor.input(shape, "float64", name=name) for name in names]
