"""An oracle that loops over all values of all labels, and contexts to work in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import tenferro as tn
import tenferro_ext_tropical as tropical
import tenferro_xla

if settings.get_current_profile_name() == "default":  # else a suite around this one has chosen
    settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
    settings.load_profile("repeatable")

Array = np.ndarray[Any, np.dtype[Any]]
Winner = tuple[tuple[int, ...], ...]


class Oracle:
    """Einsum by definition: every product is looked at, in the order in which the first wins."""

    def __init__(self, inputs: Sequence[str], output: str, kind: str) -> None:
        self.inputs, self.output = list(inputs), output
        self.better = {"maxplus": np.greater, "minplus": np.less}[kind]
        self.zero = {"maxplus": -np.inf, "minplus": np.inf}[kind]

    def __call__(self, *operands: Array) -> tuple[Array, dict[tuple[int, ...], Winner]]:
        """The result, and for each element that has one the winner's index in each operand.

        An operand's own labels are summed first, so only what leads among these can win.
        """
        sizes = {
            label: size
            for term, x in zip(self.inputs, operands, strict=True)
            for label, size in zip(term, x.shape, strict=True)
        }
        result = np.full([sizes[label] for label in self.output], self.zero)
        won: dict[tuple[int, ...], Winner] = {}
        for values in product(*(range(sizes[label]) for label in self._order())):
            at = dict(zip(self._order(), values, strict=True))
            if not all(map(self._leads, self.inputs, operands, [at] * len(operands))):
                continue
            places = tuple(_place(term, at) for term in self.inputs)
            with np.errstate(invalid="ignore"):
                total = sum(x[i] for x, i in zip(operands, places, strict=True))
            here = tuple(at[label] for label in self.output)
            if self.better(total, result[here]):
                result[here], won[here] = total, places
        return result, won

    def _leads(self, term: str, x: Array, at: dict[str, int]) -> bool:
        """Whether no other value of the operand's own labels gives more, or as much earlier."""
        others = "".join([self.output, *self.inputs])
        own = [label for label in dict.fromkeys(term)
               if others.count(label) == term.count(label)]  # fmt: skip
        mine, here = [at[label] for label in own], x[_place(term, at)]
        for values in product(*(range(x.shape[term.index(label)]) for label in own)):
            other = x[_place(term, {**at, **dict(zip(own, values, strict=True))})]
            if self.better(other, here) or (other == here and list(values) < mine):
                return False
        return bool(here == here)  # NaN never leads

    def _order(self) -> list[str]:
        """Labels of the result, shared ones as the first operand has them, then each one's own."""
        labels = list(dict.fromkeys("".join(self.inputs)))
        shared = [one for one in labels if sum(one in term for term in self.inputs) > 1]
        inner = [one for one in (*shared, *labels) if one not in self.output]
        return list(dict.fromkeys((*self.output, *inner)))


def _place(term: str, at: dict[str, int]) -> tuple[int, ...]:
    return tuple(at[label] for label in term)


@pytest.fixture(scope="session")
def oracle() -> Callable[..., Oracle]:
    """`oracle(inputs, output, kind)`."""
    return Oracle


@pytest.fixture(scope="session")
def ctx() -> Any:
    """An AdContext with the tropical rules."""
    return tn.AdContext(packages=(tropical.PACKAGE,))


def _numpy() -> Any:
    return tn.GraphExecutor(tn.NumpyBackend(), packages=(tropical.PACKAGE,))


def _loops() -> Any:
    return tenferro_xla.XlaExecutor("cpu", packages=(tropical.PACKAGE,))


EXECUTORS = {"numpy": _numpy(), "standard": tenferro_xla.XlaExecutor("cpu"), "loops": _loops()}


@pytest.fixture(scope="session")
def executors() -> dict[str, Any]:
    """NumPy kernels; XLA by standard ops; XLA by the registered loops."""
    return EXECUTORS


@pytest.fixture(params=EXECUTORS, scope="session")
def executor(request: pytest.FixtureRequest) -> Any:
    """Each of the executors in turn."""
    return EXECUTORS[request.param]
