"""An op that a formula defines and that is linear in its last inputs, such as a derivative.

The derivative of a factorization is such an op, and its adjoint is another one, with a formula of
its own. A formula that is written for the adjoint can see what the transposed formula cannot, such
as cotangents that are absent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from tenferro.arrays import Expression, expressions, values_of
from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.families.formula import FormulaOp, TransformRule
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp
from tenferro.ops import full
from tenferro.shape import TensorMeta


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
    def formula(self, *inputs: Any) -> Sequence[Expression] | None:
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

    def _in_places(self, given: Sequence[Any]) -> list[Any]:
        """One entry for each input, None for those that are zero."""
        linear = iter(given[self.fixed :])
        return [
            *given[: self.fixed],
            *[next(linear) if on else None for on in self.present],
        ]


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
        adjoint = op.adjoint(tuple(ct is not None for ct in at.ct))
        if adjoint is None:
            return self._transposed(op, at)
        active = iter(at.active[fixed:])
        wanted = tuple(on and next(active) for on in op.present)
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
    present = tuple(value is not None for value in linear)
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
        self._family_id = family.FAMILY_ID
        self._derivative = derivative
        self._reads_operands = reads_operands
        self._reads_results = reads_results
        self._whole = whole

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents by the formula."""
        whole = self._whole(op)
        out = at.out if whole is op else at.emitter.emit_all(Extension(whole), *at.primal)
        operands = at.primal if self._reads_operands else ()
        fixed = (*operands, *out) if self._reads_results else operands
        tangents = applied(at.emitter, self._derivative(op), fixed, at.tangent)
        return tuple(tangents[: len(at.out)])
