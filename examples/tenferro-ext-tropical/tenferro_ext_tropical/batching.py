"""Batch rules: a batch is one more label."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from tenferro.extension import Batched, BatchSite, ExtensionBatchRule, apply, inline
from tenferro_ext_tropical.ops import Contraction, TropicalEinsumJvp, TropicalEinsumVjp

RESULT = 2
"""Stands for the result where 0 and 1 stand for the operands."""


class ContractionBatchRule(ExtensionBatchRule):
    """The op with one more label, of the batched operands and of the result.

    Operands that are the same for all entries do not get it, and are not repeated. A tangent has
    the labels of its operand, so both are batched or neither is. An operand whose cotangent is
    computed is batched: else the cotangent would be the sum over all entries.

    Args:
        family: the op class.
    """

    def __init__(self, family: type[Contraction]) -> None:
        self._family_id = family.FAMILY_ID

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def batch(self, op: Any, at: BatchSite[Any]) -> Batched[Any]:
        """The same op with other labels; all of its results are batched."""
        belongs_to = [0, 1]
        together = {RESULT}
        if isinstance(op, TropicalEinsumJvp):
            belongs_to += op.operands
        elif isinstance(op, TropicalEinsumVjp):
            belongs_to += [RESULT]
            together |= set(op.operands)
        together |= {one for one, on in zip(belongs_to, at.batched, strict=True) if on}
        values = [
            at.repeated(i) if one in together else at.inputs[i] for i, one in enumerate(belongs_to)
        ]
        wide = with_batch_label(op, together)
        found = inline(at, lambda *inputs: apply(wide, *inputs), *values)
        outputs = found if op.output_count > 1 else (found,)
        return tuple((output, True) for output in outputs)


def with_batch_label(op: Contraction, together: Collection[int]) -> Contraction:
    """The op with one more first label, of these operands and of the result.

    >>> from tenferro_ext_tropical import TropicalEinsum
    >>> product = TropicalEinsum("maxplus", (0, 1), (1, 2), (0, 2))
    >>> with_batch_label(product, {1}).subscripts
    'ab,cbd->cad'
    """
    new = -1
    lhs, rhs = [
        (new, *labels) if operand in together else labels
        for operand, labels in enumerate((op.lhs, op.rhs))
    ]
    numbers = {label: number for number, label in enumerate(dict.fromkeys((*lhs, *rhs)))}
    terms = [tuple([numbers[label] for label in term]) for term in (lhs, rhs, (new, *op.output))]
    return replace(op, lhs=terms[0], rhs=terms[1], output=terms[2])
