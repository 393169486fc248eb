"""Policies: which values of a checkpointed function derivatives may save, by JAX's names.

A policy takes an op and the types of its operands, and says whether the results are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tenferro.errors import CheckpointError, class_of
from tenferro.ir import ExecInstruction, ExecOp, ExecProgram, TensorMeta
from tenferro.missing_names import unlisted
from tenferro.ops import CheckpointName, DotGeneral

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]

Policy = Callable[[ExecOp, Sequence[TensorMeta]], bool]


def everything_saveable(op: ExecOp, metas: Sequence[TensorMeta]) -> bool:
    """All values are saved, as if the function were not checkpointed.

    >>> import tenferro as tn
    >>> f = tn.checkpoint(tn.sin, policy=tn.checkpoint_policies.everything_saveable)
    >>> tn.grad(f)(0.0)
    Tensor(1.)
    """
    return True


def nothing_saveable(op: ExecOp, metas: Sequence[TensorMeta]) -> bool:
    """No value is saved; this is what `policy=None` means.

    >>> import tenferro as tn
    >>> f = tn.checkpoint(tn.sin, policy=tn.checkpoint_policies.nothing_saveable)
    >>> tn.grad(f)(0.0)
    Tensor(1.)
    """
    return False


def dots_saveable(op: ExecOp, metas: Sequence[TensorMeta]) -> bool:
    """Results of contractions are saved.

    >>> import tenferro as tn
    >>> f = tn.checkpoint(lambda x: tn.sum(tn.sin(x @ x)), policy="dots_saveable")
    >>> tn.grad(f)(tn.zeros((1, 1)))
    Tensor([[0.]])
    """
    return op.contracts


def dots_with_no_batch_dims_saveable(op: ExecOp, metas: Sequence[TensorMeta]) -> bool:
    """Results of contractions without batch axes are saved: layers of a network, no attention.

    >>> import tenferro as tn
    >>> policy = tn.checkpoint_policies.dots_with_no_batch_dims_saveable
    >>> tn.grad(tn.checkpoint(lambda x: tn.sum(tn.sin(x @ x)), policy=policy))(tn.zeros((1, 1)))
    Tensor([[0.]])
    """
    return isinstance(op, DotGeneral) and not op.lhs_batch


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def save_only_these_names(*names: str) -> Policy:
    """A policy that saves the values that `checkpoint_name` gave one of these names.

    >>> import tenferro as tn
    >>> policy = tn.checkpoint_policies.save_only_these_names("h")
    >>> f = tn.checkpoint(lambda x: tn.sin(tn.checkpoint_name(x * x, "h")), policy=policy)
    >>> tn.grad(f)(0.0)
    Tensor(0.)
    """
    wanted = _names("save_only_these_names", names)
    return lambda op, metas: isinstance(op, CheckpointName) and op.tag in wanted


def save_any_names_but_these(*names: str) -> Policy:
    """A policy that saves the values that have another name than these.

    >>> import tenferro as tn
    >>> policy = tn.checkpoint_policies.save_any_names_but_these("large")
    >>> tn.grad(tn.checkpoint(tn.sin, policy=policy))(0.0)
    Tensor(1.)
    """
    unwanted = _names("save_any_names_but_these", names)
    return lambda op, metas: isinstance(op, CheckpointName) and op.tag not in unwanted


def save_anything_except_these_names(*names: str) -> Policy:
    """A policy that saves all values but those of these names.

    >>> import tenferro as tn
    >>> policy = tn.checkpoint_policies.save_anything_except_these_names("large")
    >>> tn.grad(tn.checkpoint(tn.sin, policy=policy))(0.0)
    Tensor(1.)
    """
    unwanted = _names("save_anything_except_these_names", names)
    return lambda op, metas: not (isinstance(op, CheckpointName) and op.tag in unwanted)


def save_from_both_policies(first: Policy, second: Policy) -> Policy:
    """A policy that saves what one of two policies saves.

    >>> import tenferro as tn
    >>> policies = tn.checkpoint_policies
    >>> both = policies.save_from_both_policies(
    ...     policies.dots_saveable, policies.save_only_these_names("h")
    ... )
    >>> tn.grad(tn.checkpoint(tn.sin, policy=both))(0.0)
    Tensor(1.)
    """
    one, other = policy_of(first), policy_of(second)
    return lambda op, metas: one(op, metas) or other(op, metas)


_BY_NAME: dict[str, Policy] = {
    "everything_saveable": everything_saveable,
    "nothing_saveable": nothing_saveable,
    "dots_saveable": dots_saveable,
    "checkpoint_dots": checkpoint_dots,
    "dots_with_no_batch_dims_saveable": dots_with_no_batch_dims_saveable,
    "checkpoint_dots_with_no_batch_dims": checkpoint_dots_with_no_batch_dims,
}
_OF_NAMES = sorted(set(__all__) - _BY_NAME.keys())


def policy_of(policy: object) -> Policy:
    """The policy that a user passes: a function, its name, or None."""
    if policy is None:
        return nothing_saveable
    if isinstance(policy, str):
        return _named(policy)
    if not callable(policy):
        raise CheckpointError(
            "checkpoint: policy must be a function (op, metas) -> bool, a name or None, got "
            f"{class_of(policy)}"
        )
    return cast(Policy, policy)


def _named(name: str) -> Policy:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in _OF_NAMES:
        raise CheckpointError(
            f"checkpoint: the policy {name!r} takes arguments; pass "
            f"tn.checkpoint_policies.{name}(...)"
        )
    raise CheckpointError(unlisted("checkpoint", name, _BY_NAME, "policy", "policies"))


def _names(policy: str, names: Sequence[object]) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            raise CheckpointError(
                f"{policy}: takes names, such as 'h', got {name!r} of type {type(name).__name__}"
            )
    return frozenset(cast(Sequence[str], names))


def saved_slots(program: ExecProgram, policy: Policy) -> list[int]:
    """The slots of a program that a policy saves, in order; no inputs and no constants."""
    metas = program.slot_metas()
    computed = {
        slot for step in program.instructions if not step.op.source for slot in step.output_slots
    }
    saved: dict[int, None] = {}
    for step in program.instructions:
        if step.op.source:
            continue
        operands = [meta for slot in step.input_slots if (meta := metas[slot]) is not None]
        wanted = _asked(policy, step, operands)
        slots = step.output_slots
        if isinstance(step.op, CheckpointName):  # a name is that of the operand
            slots = tuple([slot for slot in step.input_slots if slot in computed])
            saved = {slot: None for slot in saved if slot not in slots}
        if wanted:
            saved.update(dict.fromkeys(slots))
    return list(saved)


def _asked(policy: Policy, step: ExecInstruction, operands: Sequence[TensorMeta]) -> bool:
    answer: object = policy(step.op, operands)
    if not isinstance(answer, bool):
        raise CheckpointError(
            f"checkpoint: policy must return True or False for {step.op.name}, got {answer!r}"
        )
    return answer
