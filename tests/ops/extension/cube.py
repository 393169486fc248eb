"""A package of two families of a third party: all of its parts are needed somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.extension import (
    ExtensionAdRule,
    ExtensionCache,
    ExtensionOp,
    Package,
    apply,
    family_id,
    inline,
)

Array = np.ndarray[Any, Any]


class SameType(ExtensionOp):
    """An op of one tensor that returns one of its type."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]


@family_id(namespace="tenferro-tests", name="cube", version=1)
@dataclass(frozen=True)
class Cube(SameType):
    """scale · x³. It has no standard ops."""

    scale: float = 1.0

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [self.scale * inputs[0] ** 3]


@family_id(namespace="tenferro-tests", name="table", version=1)
class Table(SameType):
    """x plus the sum of the entries of a table, which files hold as pairs."""

    lowers_named_sizes = True

    def __init__(self, entries: dict[str, int]) -> None:
        self.entries = entries

    def payload(self) -> tuple[object, ...]:
        return tuple(sorted(self.entries.items()))

    @classmethod
    def of_payload(cls, values: tuple[Any, ...]) -> Table:
        return cls(dict(values))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [inputs[0] + sum(self.entries.values())]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return [inline(builder, lambda x: x + float(sum(self.entries.values())), *inputs)]


class CubeRule(ExtensionAdRule):
    family_id = Cube.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        return (inline(at, lambda x, dx: 3 * op.scale * x * x * dx, *at.primal, *at.tangent),)


class TableRule(ExtensionAdRule):
    family_id = Table.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        return at.tangent


@dataclass(frozen=True)
class Runtime:
    """Runs a family by its reference meaning."""

    family_id: str

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Array], cache: ExtensionCache
    ) -> Sequence[Array]:
        return op.eager_execute(inputs)


CUBE = Package(
    name="tenferro-tests-cube",
    ops=(Cube, Table),
    rules=(CubeRule(), TableRule()),
    runtimes=(Runtime(Cube.FAMILY_ID), Runtime(Table.FAMILY_ID)),
    lowerings={Cube: "tests.ops.extension.cube_xla:lower_cube"},
    codecs={Table: Table.of_payload},
)


def cube(x: Any, scale: float = 1.0) -> Any:
    """scale · x³."""
    return apply(Cube(scale), x)
