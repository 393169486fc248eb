"""Families of extension ops to save."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, each_active, multilinear
from tenferro.extension import inline
from tenferro.ir import ExecBuilder, with_last_use
from tenferro.ir import NumpyArray as Array
from tenferro.ops import NEG, StdTensorOp
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.runtime import GraphProgram
from tenferro.shape import FLOAT64, Dim, DType, TensorMeta
from tests.serialization.samples import of_exec


class Mode(enum.StrEnum):
    UP = "up"
    DOWN = "down"


class SameShape(ExtensionOp):
    """An op of one tensor that returns one of its type."""

    @property
    def input_count(self) -> int:
        return 1

    @property
    def output_count(self) -> int:
        return 1

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [inputs[0]]


@family_id(namespace="tenferro-tests", name="scale", version=2)
@dataclass(frozen=True)
class Scale(SameShape):
    """Times `factor`, and more fields of every kind that a payload has."""

    factor: float
    mode: Mode = Mode.UP
    axes: tuple[int, ...] = (0, 1)
    dtype: DType = FLOAT64
    note: str | None = None
    bits: bytes = b"\x00\xff"

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [inputs[0] * self.factor]

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V]:
        return [inline(builder, lambda x: x * self.factor, inputs[0])]


class ScaleRule(ExtensionAdRule):
    """`Scale` is linear."""

    family_id = "tenferro-tests.scale.v2"

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, Extension(op))

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(Extension(op), ct))


@family_id(namespace="tenferro-tests", name="scale", version=1)
@dataclass(frozen=True)
class OldScale(SameShape):
    """The version before."""

    factor: float


@family_id(namespace="tenferro-tests", name="minmax", version=1)
@dataclass(frozen=True)
class MinMax(SameShape):
    """Two outputs without axes."""

    @property
    def output_count(self) -> int:
        return 2

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        return [(input_dtypes[0], ())] * 2

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [np.asarray(inputs[0].min()), np.asarray(inputs[0].max())]


def applied(op: StdTensorOp, *shape: int | str) -> GraphProgram:
    """The program that negates a matrix and applies `op` to it."""
    builder = ExecBuilder()
    x = builder.input(TensorMeta.of("f64", shape or ("n", 3)))
    (negative,) = builder.add(NEG, [x], "scale.py:1")
    return of_exec(with_last_use(builder.build(builder.add(op, [negative], "scale.py:2"))), ["x"])


def scaled() -> GraphProgram:
    """The golden program of an extension."""
    return applied(Extension(Scale(-0.5, Mode.DOWN, note="größe")))
