"""An op that a formula defines, and its derivatives of any order as ops of the same family.

The op has the transforms that were applied to the formula. They are carried out when the op is
lowered, on the graph that the formula emits. A formula may therefore need sizes that are not yet
known when the op is differentiated.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

from tenferro.autodiff import differentiate, pull_back, push_forward
from tenferro.chainrules import Emitter, JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.errors import InvalidConfigError
from tenferro.exec_ir import Array
from tenferro.families.reference import evaluate_standard
from tenferro.family import (
    Extension,
    ExtensionAdRule,
    ExtensionOp,
    ExtensionRuleSet,
    OutputMeta,
)
from tenferro.ops import StdTensorOp, emit_graph, shape_context, zeros_like
from tenferro.shape import Dim, DType, TensorMeta, make_meta

Transform = tuple[str, tuple[bool, ...]]
"""`("jvp", active inputs)`, `("vjp", active inputs)` or `("select", live outputs)`."""


class FormulaOp(ExtensionOp):
    """An op that a formula defines, with transforms of it.

    `"jvp"` adds the tangents of the active inputs to the inputs; the outputs become tangents.
    `"vjp"` adds the cotangents of the outputs to the inputs; the outputs become the cotangents of
    the active inputs, in which the op before it is linear. Masks refer to the inputs of the
    formula. Subclasses define the formula and have the field `transforms` last.

    Attributes:
        transforms: the transforms, in order.
    """

    transforms: tuple[Transform, ...]

    formula_rules: ClassVar[ExtensionRuleSet] = ExtensionRuleSet()
    """The derivative rules of extension ops that the formula emits."""

    @property
    @abstractmethod
    def formula_inputs(self) -> int:
        """The number of inputs of the formula."""

    @property
    @abstractmethod
    def formula_outputs(self) -> int:
        """The number of outputs of the formula."""

    @abstractmethod
    def formula_types(self, metas: Sequence[TensorMeta]) -> Sequence[TensorMeta]:
        """The types of the formula's outputs.

        Raises:
            ShapeError, DTypeError: the formula cannot take these inputs.
        """

    @abstractmethod
    def emit_formula(self, at: Emitter[V], inputs: Sequence[V]) -> Sequence[V] | None:
        """The outputs of the formula, or None if it needs sizes that are not known."""

    @property
    def input_count(self) -> int:
        """The inputs of the formula, and those that the transforms add."""
        return self._counts()[0]

    @property
    def output_count(self) -> int:
        """The outputs that are left by the transforms."""
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        inputs, outputs = self.formula_inputs, self.formula_outputs
        for kind, mask in self.transforms:
            match kind:
                case "jvp":
                    inputs += sum(mask)
                case "vjp":
                    inputs, outputs = inputs + outputs, sum(mask)
                case "select":
                    outputs = sum(mask)
                case _:
                    raise InvalidConfigError(
                        self.family_id, f"family_id={self.family_id}: no transform {kind!r}"
                    )
        return inputs, outputs

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of the result for a tangent, that of its input for a cotangent."""
        metas = [make_meta(d, tuple(s)) for d, s in zip(input_dtypes, input_shapes, strict=True)]
        return [(meta.dtype, meta.exact_shape()) for meta in self._output_types(metas)]

    def _output_types(self, metas: Sequence[TensorMeta]) -> list[TensorMeta]:
        count = self.formula_inputs
        outputs = list(self.formula_types(metas[:count]))
        for kind, mask in self.transforms:
            if kind == "vjp":
                added = len(outputs)
                outputs = [m for m, on in zip(metas[:count], mask, strict=True) if on]
                count += added
            elif kind == "jvp":
                count += sum(mask)
            else:
                outputs = [m for m, on in zip(outputs, mask, strict=True) if on]
        return outputs

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The ops of the formula, with the transforms applied."""
        return emit_graph(builder, inputs, partial(_transformed, self))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run the ops of the formula on NumPy arrays."""
        return evaluate_standard(self, inputs)

    def prune_outputs(self, live: tuple[bool, ...]) -> Self:
        """The op with only the live outputs."""
        return self.then("select", live)

    def then(self, kind: str, mask: tuple[bool, ...]) -> Self:
        """The op with one more transform."""
        return replace(self, transforms=(*self.transforms, (kind, mask)))  # type: ignore[type-var]


def _transformed(op: FormulaOp, keys: Sequence[GlobalValKey]) -> list[GlobalValKey] | None:
    """The outputs of the op as graph values computed from `keys`."""
    ctx = shape_context(op.formula_rules.lookup)
    emitter = KeyEmitter(ctx)
    count = op.formula_inputs
    emitted = op.emit_formula(emitter, keys[:count])
    if emitted is None:
        return None
    outputs = list(emitted)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    for kind, mask in op.transforms:
        active = [key for key, on in zip(keys[:count], mask, strict=False) if on]
        if kind == "jvp":
            tangents = keys[count : count + len(active)]
            count += len(active)
            results = push_forward(view, outputs, active, tangents, ctx=ctx)
            outputs = _filled(emitter, results, outputs)
        elif kind == "vjp":
            cts = keys[count : count + len(outputs)]
            count += len(outputs)
            linear = differentiate(view, outputs, active, ctx=ctx)
            outputs = _filled(emitter, pull_back(linear, cts, ctx=ctx), active)
        else:
            outputs = [key for key, on in zip(outputs, mask, strict=True) if on]
    return outputs


def _filled(
    emitter: KeyEmitter, keys: Sequence[GlobalValKey | None], like: Sequence[GlobalValKey]
) -> list[GlobalValKey]:
    return [
        zeros_like(emitter, primal) if key is None else key
        for key, primal in zip(keys, like, strict=True)
    ]


class TransformRule(ExtensionAdRule):
    """Rules of an op with transforms: its derivative has one more transform."""

    def __init__(self, family: type[ExtensionOp]) -> None:
        self._family_id = family.FAMILY_ID

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The op with one more forward transform."""
        return pushed(op, at)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The op with a reverse transform in place of the forward one with active tangents."""
        transforms: tuple[Transform, ...] = getattr(op, "transforms", ())
        if not transforms:
            return super().transpose_rule(op, at)
        *before, (kind, mask) = transforms
        count = len(at.inputs) - sum(mask)
        if kind != "jvp" or any(at.active[:count]):
            return super().transpose_rule(op, at)
        live = tuple(ct is not None for ct in at.ct)
        selected = () if all(live) else (("select", live),)
        steps = (*before, *selected, ("vjp", mask))
        pulled = replace(op, transforms=steps)  # type: ignore[type-var]
        cts = [ct for ct in at.ct if ct is not None]
        results = self.cotangents(pulled, at, at.inputs[:count], cts)
        slots = (*([None] * count), *results)
        return tuple(ct if on else None for ct, on in zip(slots, at.active, strict=True))

    def cotangents(
        self, op: ExtensionOp, at: TransposeSite[V], fixed: Sequence[V], cts: Sequence[V]
    ) -> tuple[V, ...]:
        """The cotangents that `op` computes from the fixed inputs and those of its results."""
        return at.emitter.emit_all(Extension(op), *fixed, *cts)


def pushed(op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
    """The tangents by the op with one more forward transform, as one op."""
    active = tuple(tangent is not None for tangent in at.tangent)
    transforms: tuple[Transform, ...] = getattr(op, "transforms", ())
    steps = (*transforms, ("jvp", active))
    forward = replace(op, transforms=steps)  # type: ignore[type-var]
    tangents = [tangent for tangent in at.tangent if tangent is not None]
    return tuple(at.emitter.emit_all(Extension(forward), *at.primal, *tangents))
