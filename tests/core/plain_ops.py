"""Ops without derivative rules, for what the toy set lacks: several outputs, and any arity."""

from collections.abc import Sequence
from typing import Any


class PlainOp:
    """An op known by its name; `results` is how many values it returns when it is run."""

    n_inputs: int | None = 1

    def __init__(self, name: str, n_outputs: int = 1, n_inputs: int | None = 1) -> None:
        self.identity = name
        self.n_outputs = n_outputs
        self.n_inputs = n_inputs

    def __str__(self) -> str:
        return self.identity

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(inputs)


class Split(PlainOp):
    """The entries of a vector of known length."""

    def __init__(self, length: int) -> None:
        super().__init__(f"split[{length}]", n_outputs=length)

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(inputs[0])
