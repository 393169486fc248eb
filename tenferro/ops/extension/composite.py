"""Ops that formulas define, and op classes that have their rules themselves.

A `FormulaOp` has the transforms that were applied to its formula. They are carried out when the op
is lowered, on the graph that the formula emits. A formula may therefore need sizes that are not yet
known when the op is differentiated. A formula that is written for an adjoint can see what the
transposed formula cannot, such as cotangents that are absent: that is a `LinearFormula`.

A `FamilyOp` has kernel, derivatives and batch rule in its class; `differentiable` makes
`LinearFormula`s of its derivatives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    ResolvedView,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    push_forward,
    resolve_keys,
)
from tenferro.errors import InvalidConfigError, UnsupportedADRuleError
from tenferro.ir import (
    Dim,
    DType,
    NumpyArray,
    Rewriter,
    TensorMeta,
    evaluate,
    make_meta,
    program_of_op,
)
from tenferro.ops import StdTensorOp, emit_graph, full, shape_context, zeros_like
from tenferro.ops.extension.carrier import Extension, LeadingBatchRule
from tenferro.ops.extension.op import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    ExtensionRuleSet,
    OutputMeta,
    family_id,
    parse_family_id,
)
from tenferro.ops.extension.package import ExtensionRuntime, KernelRuntime
from tenferro.ops.functions import expressions, values_of

__all__ = [
    "DTypes",
    "FactorRule",
    "FamilyBatchRule",
    "FamilyOp",
    "FormulaOp",
    "FormulaSite",
    "LinearFormula",
    "LinearFormulaRule",
    "OutputTypes",
    "Shapes",
    "Terms",
    "Transform",
    "TransformRule",
    "applied",
    "differentiable",
    "evaluate_standard",
    "pushed",
    "transformed",
]


def evaluate_standard(op: ExtensionOp, inputs: Sequence[NumpyArray]) -> list[NumpyArray]:
    """The results of the ops by which an extension op is replaced, on NumPy arrays."""
    metas = [make_meta(array.dtype, tuple(array.shape)) for array in inputs]
    rewriter = Rewriter(program_of_op(Extension(op), metas))
    program = rewriter.run(lambda step, operands: step.op.expanded(rewriter, operands))
    with np.errstate(all="ignore"):
        return evaluate(program, list(inputs))


# An op that a formula defines, and its derivatives of any order as ops of the same family.

T = TypeVar("T")
Transform = tuple[str, tuple[bool, ...]]
"""`("jvp", active inputs)`, `("vjp", active inputs)` or `("select", live outputs)`."""


def transformed(
    transforms: Sequence[Transform], inputs: Sequence[T], outputs: Sequence[T], family: str = ""
) -> tuple[list[T], list[T]]:
    """What the inputs and the outputs of an op with transforms belong to, from those of the op.

    A tangent belongs to what its primal does, and a cotangent to what it is the cotangent of.

    Raises:
        InvalidConfigError: there is no such transform of these inputs and outputs.
    """
    inputs, outputs = list(inputs), list(outputs)
    for kind, mask in transforms:
        chosen = outputs if kind == "select" else inputs
        if kind not in ("jvp", "vjp", "select") or len(mask) != len(chosen):
            raise InvalidConfigError(family, f"family_id={family}: no transform {kind!r}")
        active = [each for each, on in zip(chosen, mask, strict=True) if on]
        if kind == "jvp":
            inputs = inputs + active
        elif kind == "vjp":
            inputs, outputs = inputs + outputs, active
        else:
            outputs = active
    return inputs, outputs


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
        outputs = range(self.formula_outputs)
        return len(
            transformed(self.transforms, range(self.formula_inputs), outputs, self.family_id)[0]
        )

    @property
    def output_count(self) -> int:
        """The outputs that are left by the transforms."""
        outputs = range(self.formula_outputs)
        return len(
            transformed(self.transforms, range(self.formula_inputs), outputs, self.family_id)[1]
        )

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of the result for a tangent, that of its input for a cotangent."""
        metas = [make_meta(d, tuple(s)) for d, s in zip(input_dtypes, input_shapes, strict=True)]
        inputs = metas[: self.formula_inputs]
        _, outputs = transformed(self.transforms, inputs, self.formula_types(inputs))
        return [(meta.dtype, meta.exact_shape()) for meta in outputs]

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The ops of the formula, with the transforms applied."""
        return emit_graph(builder, inputs, partial(_transformed, self))

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """Run the ops of the formula on NumPy arrays."""
        return evaluate_standard(self, inputs)

    def prune_outputs(self, live: tuple[bool, ...]) -> Self:
        """The op with only the live outputs."""
        return self.then("select", live)

    @classmethod
    def own_rule(cls) -> ExtensionAdRule:
        """That of an op with transforms."""
        return TransformRule(cls)

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
        self.family = family

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


# An op that a formula defines and that is linear in its last inputs, such as a derivative.


class LinearFormula(FormulaOp):
    """An op of `fixed` inputs and of further ones, in which it is linear.

    Subclasses are frozen dataclasses with the fields `present` and `transforms` last.

    Attributes:
        present: which of the inputs in which it is linear are passed. The others are zero, and the
            formula gets None in their places.
        transforms: the transforms of the formula.
    """

    present: tuple[bool, ...]

    fixed: ClassVar[int]
    """The number of inputs in which the op is not linear; they come first."""

    @abstractmethod
    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        """The types of all outputs, from those of all inputs; None for an input that is zero."""

    @abstractmethod
    def formula(self, *inputs: Any) -> Sequence[Any] | None:
        """All outputs. None, if the formula depends on a comparison of sizes that is undecided.

        Each input is an `Expression`, or None if it is zero.
        """

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula | None:
        """The op from the fixed inputs and cotangents of the outputs to those of linear inputs.

        It has an output for every input in which this op is linear, present or not. If it is None,
        this formula is transposed.
        """
        return None

    @property
    def formula_inputs(self) -> int:
        """The inputs that are passed."""
        return self.fixed + sum(self.present)

    def formula_types(self, metas: Sequence[TensorMeta]) -> Sequence[TensorMeta]:
        """The types of all outputs."""
        return self.types(self._in_places(metas))

    def emit_formula(self, at: Emitter[V], inputs: Sequence[V]) -> Sequence[V] | None:
        """The outputs of the formula; zeros if an input has no elements."""
        metas = [at.ctx.meta(value) for value in inputs]
        if any(0 in (meta.dims or ()) for meta in metas):
            return [full(at, 0, meta) for meta in self.formula_types(metas)]
        results = self.formula(*self._in_places(expressions(at, inputs)))
        return None if results is None else values_of(results)

    @classmethod
    def own_rule(cls) -> ExtensionAdRule:
        """That of a linear formula."""
        return LinearFormulaRule(cls)

    def _in_places(self, values: Sequence[Any]) -> list[Any]:
        """One entry for each input, None for those that are zero."""
        linear = iter(values[self.fixed :])
        return [*values[: self.fixed], *[next(linear) if on else None for on in self.present]]


class LinearFormulaRule(TransformRule):
    """Rules of a `LinearFormula` and of its transforms."""

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The op itself on the tangents, if those of all fixed inputs are zero."""
        assert isinstance(op, LinearFormula)
        if op.transforms or any(tangent is not None for tangent in at.tangent[: op.fixed]):
            return super().linearize(op, at)
        linear = iter(at.tangent[op.fixed :])
        slots = [next(linear) if on else None for on in op.present]
        return tuple(applied(at.emitter, op, at.primal[: op.fixed], slots))

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The adjoint on the cotangents of the outputs."""
        assert isinstance(op, LinearFormula)
        fixed = op.fixed
        if op.transforms or any(at.active[:fixed]):
            return super().transpose_rule(op, at)
        adjoint = op.adjoint(tuple([ct is not None for ct in at.ct]))
        if adjoint is None:
            return self._transposed(op, at)
        active = iter(at.active[fixed:])
        wanted = tuple([on and next(active) for on in op.present])
        cts = list(applied(at.emitter, adjoint, at.inputs[:fixed], at.ct, wanted))
        slots = [cts.pop(0) if on else None for on in at.active[fixed:]]
        return (*[None] * fixed, *slots)

    def _transposed(self, op: LinearFormula, at: TransposeSite[V]) -> Slots[V]:
        """The transposed formula; the values of the active inputs do not matter."""
        emitter = at.emitter
        inputs = [
            full(emitter, 0, emitter.ctx.meta(value)) if on else value
            for value, on in zip(at.inputs, at.active, strict=True)
        ]
        live = tuple(ct is not None for ct in at.ct)
        selected = op if all(live) else op.then("select", live)
        cts = [ct for ct in at.ct if ct is not None]
        pulled = emitter.emit_all(Extension(selected.then("vjp", at.active)), *inputs, *cts)
        results = iter(pulled)
        return tuple(next(results) if on else None for on in at.active)


def applied(
    at: Emitter[V],
    op: LinearFormula,
    fixed: Sequence[V],
    linear: Sequence[V | None],
    wanted: tuple[bool, ...] = (),
) -> Sequence[V]:
    """The outputs of `op`, or those that are wanted; linear inputs may be None, which is zero."""
    present = tuple([value is not None for value in linear])
    op = replace(op, present=present)  # type: ignore[type-var]
    if wanted and not all(wanted):
        op = op.then("select", wanted)
    return at.emit_all(Extension(op), *fixed, *[value for value in linear if value is not None])


class FactorRule(ExtensionAdRule):
    """The rule of a factorization whose tangents are a formula of its results and the tangents.

    Args:
        family: the op class of the factorization.
        derivative: makes the formula from the op. Its fixed inputs are the operands of the
            factorization, if `reads_operands`, then its results, if `reads_results`.
        reads_operands, reads_results: what the formula reads.
        whole: makes the op with all results, of which some may have been pruned. The first ones of
            these are those of a pruned op.
    """

    def __init__(
        self,
        family: type[ExtensionOp],
        derivative: Callable[[Any], LinearFormula],
        reads_operands: bool = False,
        reads_results: bool = True,
        whole: Callable[[Any], ExtensionOp] = lambda op: op,
    ) -> None:
        self.family = family
        self._derivative = derivative
        self._reads_operands = reads_operands
        self._reads_results = reads_results
        self._whole = whole

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents by the formula."""
        whole = self._whole(op)
        out = at.out if whole is op else at.emitter.emit_all(Extension(whole), *at.primal)
        operands = at.primal if self._reads_operands else ()
        fixed = (*operands, *out) if self._reads_results else operands
        tangents = applied(at.emitter, self._derivative(op), fixed, at.tangent)
        return tuple(tangents[: len(at.out)])


# Ops whose class has all there is to know of their family: kernel, derivatives, batch rule.

DTypes = Sequence[DType]
Shapes = Sequence[tuple[Dim, ...]]
OutputTypes = Sequence[OutputMeta]


@dataclass(frozen=True)
class FormulaSite:
    """What a derivative reads around one application of its op, as `Expression`s; None is zero.

    Attributes:
        operands: of the op; of those that are active, `vjp` may only read the types.
        results: of the op. A derivative that is an op itself reads these, and no operands.
        tangents: of the operands, for `jvp`.
        cts: the cotangents of the results, for `vjp`.
        active: which operands are active, for `vjp`.
        final: whether the derivative is not differentiated again.
    """

    operands: Sequence[Any] = ()
    results: Sequence[Any] = ()
    tangents: Sequence[Any] = ()
    cts: Sequence[Any] = ()
    active: Sequence[bool] = ()
    final: bool = False


Terms = Sequence[Any]
"""Expressions; None is zero."""


class FamilyOp(ExtensionOp):
    """An op whose class has all there is to know of its family: kernel, derivatives, batch rule.

    Attributes:
        linear_from: the op is linear in its operands from this one on.
        jvp_op, vjp_op: the classes of its derivatives, where these are ops; see `differentiable`.
    """

    linear_from: ClassVar[int | None] = None
    jvp_op: ClassVar[Any] = None
    vjp_op: ClassVar[Any] = None

    @abstractmethod
    def kernel(self, *arrays: Any) -> Sequence[Any]:
        """The outputs on NumPy arrays. This is the reference implementation."""

    def jvp(self, at: FormulaSite) -> Terms | None:
        """The tangents of all results.

        None, if it is an op itself and must wait until sizes can be compared.
        """
        raise UnsupportedADRuleError(
            self.family_id,
            "linearize",
            "has no linearize rule; it cannot be differentiated further",
        )

    def vjp(self, at: FormulaSite) -> Terms | None:
        """The cotangents of the operands in which the op is linear; of all, if it is an op itself.

        A family that is not linear in any operand, and needs no adjoint of its own, has none.
        """
        raise UnsupportedADRuleError(
            self.family_id,
            "transpose",
            "has no transpose rule; it is not linear in any of its inputs",
        )

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """The op itself: one more leading axis of all inputs is a batch."""
        return LeadingBatchRule(type(self)).batch(self, at)

    def whole(self) -> FamilyOp:
        """The op with all results, of which `prune_outputs` left the first ones."""
        return self

    @staticmethod
    def operand_types(*results: TensorMeta) -> Sequence[TensorMeta]:
        """The types of the operands, from those of all results; for a `vjp` that is an op."""
        raise NotImplementedError

    @classmethod
    def runtime(cls) -> ExtensionRuntime:
        """What runs the family on native backends."""
        return KernelRuntime(cls)

    @classmethod
    def own_rule(cls) -> ExtensionAdRule:
        """The derivative rules by `jvp` and `vjp`."""
        if cls.jvp_op is None:
            return FamilyRule(cls)
        return FactorRule(cls, partial(preserving, cls.jvp_op), whole=cls.whole)

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """The outputs of the kernel."""
        return self.kernel(*inputs)


class FamilyRule(ExtensionAdRule):
    """The derivative rules of an op class that has them as `jvp` and `vjp`."""

    def __init__(self, family: type[FamilyOp]) -> None:
        self.family = family

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """What `jvp` emits."""
        assert isinstance(op, FamilyOp)
        of = partial(expressions, at.emitter)
        tangents = op.jvp(FormulaSite(of(at.primal), of(at.out), of(at.tangent)))
        assert tangents is not None
        return values_of(tangents)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """What `vjp` emits, if the op is linear in all active operands."""
        assert isinstance(op, FamilyOp)
        first = op.linear_from
        if first is None or any(at.active[:first]):
            return super().transpose_rule(op, at)
        operands, cts = (expressions(at.emitter, side) for side in (at.inputs, at.ct))
        results = op.vjp(FormulaSite(operands, cts=cts, active=at.active))
        assert results is not None
        active = zip(values_of(results), at.active[first:], strict=True)
        return (*[None] * first, *[ct if on else None for ct, on in active])


class FamilyBatchRule(ExtensionBatchRule):
    """The batch rule of an op class that has it as `batch`."""

    def __init__(self, family: type[FamilyOp]) -> None:
        self.family = family

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """What the op emits."""
        assert isinstance(op, FamilyOp)
        return op.batch(at)


class DerivativeFormula(LinearFormula):
    """The derivative of an op, as an op from its results and tangents or cotangents.

    The payload is that of the op, as far as the derivative depends on it.

    Attributes:
        of: the op class.
        preserves: the fields of the op on which the derivative depends, which it has too.
        forward: whether tangents are computed, or else cotangents.
    """

    of: ClassVar[type[FamilyOp]]
    preserves: ClassVar[Sequence[str]]
    forward: ClassVar[bool]

    def formula_types(self, metas: Sequence[TensorMeta]) -> Sequence[TensorMeta]:
        """Those of the results, or of the operands."""
        results = metas[: self.fixed]
        return results if self.forward else self.of.operand_types(*results)

    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        """Those of the formula, which do not depend on what is present."""
        return self.formula_types([meta for meta in metas if meta is not None])

    def formula(self, *inputs: Any) -> Sequence[Any] | None:
        """The `jvp` or the `vjp` of the op."""
        results, changes = inputs[: self.fixed], inputs[self.fixed :]
        final = all(kind == "select" for kind, _ in self.transforms)
        op = self.of(**{name: getattr(self, name) for name in self.preserves})
        if self.forward:
            terms = op.jvp(FormulaSite(results=results, tangents=changes, final=final))
        else:
            terms = op.vjp(FormulaSite(results=results, cts=changes, final=final))
        return terms

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula | None:
        """The other derivative; None if the op has no `vjp`."""
        other = self.of.vjp_op if self.forward else self.of.jvp_op
        return None if other is None else preserving(other, self, present)


def preserving(derivative: Any, op: Any, *others: Any) -> Any:
    """The derivative of an op, with the values that it preserves from it or another derivative."""
    return derivative(*map(partial(getattr, op), derivative.preserves), *others)


F = TypeVar("F", bound=type[Any])


def differentiable(
    results: int, preserves: Sequence[str] = (), undefined: str | None = None
) -> Callable[[F], F]:
    """A class decorator that makes ops of the derivatives of an op, `<name>_jvp` and `<name>_vjp`.

    They wait until sizes are known, can see which cotangents are absent, and the `vjp` need not be
    the transposed `jvp`; without one, the `jvp` is transposed.

    Args:
        results: the number of all results, which are the fixed inputs of the derivatives.
        preserves: the fields of the payload on which the derivatives depend.
        undefined: see `ExtensionOp.undefined`.
    """

    def decorate(cls: F) -> F:
        def made(kind: str, inputs: int, outputs: int) -> Any:
            id_ = parse_family_id(cls.FAMILY_ID)
            name = cls.__name__ + kind.capitalize()
            attributes = {
                "__doc__": getattr(cls, kind).__doc__,
                "__module__": cls.__module__,
                "of": cls,
                "preserves": tuple(preserves),
                "forward": kind == "jvp",
                "fixed": results,
                "formula_outputs": outputs,
                "undefined": undefined,
            }
            payload: list[Any] = [
                *[
                    (each.name, each.type, each.default)
                    for each in fields(cls)
                    if each.name in preserves
                ],
                ("present", tuple[bool, ...], (True,) * inputs),
                ("transforms", tuple[Transform, ...], ()),
            ]
            op = make_dataclass(
                name, payload, bases=(DerivativeFormula,), namespace=attributes, frozen=True
            )
            op.__qualname__ = f"{cls.__qualname__}.{kind}_op"
            return family_id(
                namespace=id_.namespace, name=f"{id_.name}_{kind}", version=id_.version
            )(op)

        count = cls.input_count
        cls.jvp_op = made("jvp", count, results)
        if cls.vjp is not FamilyOp.vjp:
            cls.vjp_op = made("vjp", results, count)
        return cls

    return decorate
