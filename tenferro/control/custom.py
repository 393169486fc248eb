"""Custom: a program whose derivatives a rule gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from tenferro.chainrules import Batched, BatchSite, JvpSite, Slots, TransposeSite, V
from tenferro.control.batches import for_all_entries
from tenferro.control.called import Called
from tenferro.control.checks import size_in_words
from tenferro.control.custom_rules import BatchedRule, GuardedRule
from tenferro.control.graphs import inner_emitter
from tenferro.control.rules import Rule
from tenferro.exec_ir import Array, Body, ExecProgram, payload


@payload
class Custom(Called, name="custom"):
    """Computes `body`; derivatives are those that `rule` gives.

    It occurs in graphs, and in the programs inside their ops. Lowering writes the body in its
    place, so that compiled programs do not contain it.

    Attributes:
        body: what it computes.
        rule: its derivatives.
        consts: number of first operands that are not arguments of the user's function.

    Raises:
        ControlFlowError: a field is of another type.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    rule: Rule
    consts: int = 0

    one_mode = True

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        object.__setattr__(self, "body", body)
        super().__post_init__()
        object.__setattr__(self, "n_inputs", len(body.input_slots))
        object.__setattr__(self, "n_outputs", len(body.output_slots))

    @property
    def const_places(self) -> dict[str, range]:
        """The operands that are not arguments."""
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with a guard as one more const."""
        (body,) = bodies.values()
        assert counts["body"] == self.consts + 1, "custom: takes one more const, a guard"
        return type(self)(body, GuardedRule(self), self.consts + 1)  # type: ignore[arg-type]  # a program

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """What the body returns."""
        self.check_computed()
        return super().evaluate(inputs)

    def check_computed(self) -> None:
        """Raise ADRuleError if the op has no values, but can be transposed."""
        self.rule.check_computed()

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents that the rule gives."""
        return self.rule.linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents that the rule gives."""
        return self.rule.transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The body for all entries, with the rule for all entries. All results are batched."""
        body = for_all_entries(self.body, at.batched, at.size, inner_emitter(at.emitter))
        op = Custom(body, BatchedRule(self, at.batched, at.size), self.consts)
        return tuple([(value, True) for value in at.emitter.emit_all(op, *at.inputs)])

    def in_words(self) -> str:
        """The size of the body."""
        return f"{self.rule}: {size_in_words(self.body)}"

    def _role(self, position: int) -> str:
        return f"of {self.rule}"
