"""Batch rules of extension families: registered ones, and what stands in for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import (
    BatchRuleError,
    DuplicateRuleError,
    ExtensionRegistryError,
    InvalidConfigError,
    UnsupportedExtensionError,
)
from tenferro.extension import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    ExtensionRuleSet,
    KernelRuntime,
    LeadingBatchRule,
    Package,
    apply,
    family_id,
    inline,
)
from tenferro.ir import NumpyArray as Array
from tenferro.ops.extension import batch_rule_name, called_one_by_one, rules_of

X = np.random.default_rng(0).normal(size=(3, 4))
W = np.array([1.0, 2.0, -1.0, 0.5])


@family_id(namespace="tests", name="weighted_sort", version=1)
@dataclass(frozen=True)
class WeightedSort(ExtensionOp):
    """The elements of a vector, sorted, times weights; it has no other form and takes no batch."""

    input_count = 2
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        x, w = inputs
        assert x.ndim == w.ndim == 1
        return [np.sort(x) * w]


class WeightedSortRule(ExtensionAdRule):
    """Linear in the weights; none by the vector."""

    family_id = WeightedSort.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        dw = at.tangent[1]
        return (None if dw is None else inline(at, lambda x, d: apply(op, x, d), at.primal[0], dw),)

    def transpose_rule(self, op: Any, at: Any) -> Any:
        return None, inline(at, lambda x, ct: apply(op, x, ct), at.inputs[0], at.ct[0])


class ByColumns(ExtensionBatchRule):
    """Another family does it for a batch."""

    family_id = WeightedSort.FAMILY_ID

    def batch(self, op: Any, at: Any) -> Any:
        if not at.batched[0]:
            return (inline(at, lambda x, w: apply(op, x, w * 0 + 1) * w, *at.inputs), True)
        return ((inline(at, lambda x, w: tn.sort(x, axis=1) * w, *at.inputs), True),)


RUNTIMES = (KernelRuntime(WeightedSort.FAMILY_ID),)
PLAIN = Package("tests", ops=(WeightedSort,), rules=(WeightedSortRule(),), runtimes=RUNTIMES)
WITH_RULE = Package("tests", ops=(WeightedSort,), runtimes=RUNTIMES, batch_rules=(ByColumns(),))


def sorted_(x: Any, w: Any) -> Any:
    return apply(WeightedSort(), x, w)


def steps(function: Any, *specs: Any) -> list[Any]:
    program = tn.make_program(function, *[tn.TensorSpec(spec) for spec in specs])
    return list(program.exec_program.ops())


def test_without_another_form_one_call_follows_the_other() -> None:
    batched = tn.vmap(sorted_, in_axes=(0, None), packages=(PLAIN,))
    np.testing.assert_array_equal(batched(X, W), np.sort(X) * W)
    (loop,) = steps(batched, ("n", 4), (4,))
    assert called_one_by_one(loop) == WeightedSort.FAMILY_ID
    assert (loop.consts, loop.carry) == (1, 0)
    assert called_one_by_one(steps(lambda x: tn.sin(x), (3,))[0]) is None
    program = tn.make_program(batched, tn.TensorSpec(("n", 4)), tn.TensorSpec((4,)))
    assert [str(meta) for meta in program.exec_program.output_metas] == ["f64[n,4]"]
    text = str(program)
    assert "scan[consts=1, carry=0, length=n] %1!, %0! {  # test_batching.py" in text


def test_such_a_loop_is_differentiated_and_batched_again() -> None:
    def total(x: Any, w: Any) -> Any:
        return tn.sum(tn.vmap(sorted_, in_axes=(0, None))(x, w) ** 2)

    context = tn.AdContext(packages=(PLAIN,))
    gradient = tn.jit(tn.grad(total, 1, ad_context=context), executor="numpy", packages=(PLAIN,))
    np.testing.assert_allclose(gradient(X, W), (2 * np.sort(X) ** 2 * W).sum(axis=0))
    single = tn.grad(lambda x, w: tn.sum(sorted_(x, w) ** 2), 1, ad_context=context)
    each = tn.vmap(single, in_axes=(0, None), packages=(PLAIN,))
    np.testing.assert_allclose(each(X, W), 2 * np.sort(X) ** 2 * W)


def test_a_registered_rule_is_used() -> None:
    batched = tn.vmap(sorted_, in_axes=(0, None), packages=(WITH_RULE,))
    np.testing.assert_array_equal(batched(X, W), np.sort(X) * W)
    assert steps(batched, (3, 4), (4,))[0].name == "sort"
    again = tn.vmap(batched, in_axes=(0, None))
    np.testing.assert_array_equal(again(np.stack([X, -X]), W)[1], np.sort(-X) * W)


def test_a_rule_that_returns_something_else_is_told() -> None:
    text = r"extension\[.*\]: its batch rule returns 2 values; return a tuple of 1 pair"
    with pytest.raises(BatchRuleError, match=text):
        tn.vmap(sorted_, in_axes=(None, 0), packages=(WITH_RULE,))(W, X)
    wrong = Package("tests", ops=(WeightedSort,), batch_rules=(Unbatched(WeightedSort),))
    text = r"its batch rule returns for output 0 f64\[4\], which must be f64\[3,4\]"
    with pytest.raises(InvalidConfigError, match=text) as caught:
        tn.vmap(sorted_, in_axes=(0, None), packages=(wrong,))(X, W)
    assert caught.value.__notes__ == ["in the batch rule of tests.weighted_sort.v1"]


class Unbatched(LeadingBatchRule):
    def batch(self, op: Any, at: Any) -> Any:
        return ((at.inputs[1], True),)


def test_an_op_that_no_loop_can_call_is_refused() -> None:
    def function(x: Any, count: Any) -> Any:
        short = tn.dynamic_truncate(x, count, 1)
        return tn.vmap(lambda row: apply(WeightedSort(), row, row))(short)

    text = (
        "^tests.weighted_sort.v1: has no batch rule, no standard ops and no single-call form; "
        "register an ExtensionBatchRule$"
    )
    with pytest.raises(BatchRuleError, match=text):
        tn.make_program(function, tn.TensorSpec((3, 4)), tn.TensorSpec((), "int64"))


def test_rule_sets_hold_batch_rules_beside_derivative_rules() -> None:
    rules = rules_of([WITH_RULE])
    family = WeightedSort.FAMILY_ID
    assert (len(rules), family in rules, rules.lookup(family)) == (0, False, None)
    (rule,) = rules.batch_rules
    assert rules.lookup(batch_rule_name(family)) is rule
    with pytest.raises(DuplicateRuleError, match=f"batch rule for family_id '{family}' already"):
        rules.register_batch_rule(rule)
    with pytest.raises(DuplicateRuleError):
        rules | rules
    other = ExtensionRuleSet()
    other.register_batch_rule(LeadingBatchRule(WeightedSort))
    assert rules.over(other).batch_rules == (rule,)
    assert other.over(rules).copy().batch_rules == other.batch_rules
    assert (rules | rules_of([PLAIN])).lookup(family) is PLAIN.rules[0]


def test_a_package_brings_batch_rules_of_its_own_families() -> None:
    with pytest.raises(ExtensionRegistryError, match="has a batch rule for 'tests"):
        Package("tests", batch_rules=(ByColumns(),))
    with pytest.raises(ExtensionRegistryError, match="batch_rules must be a tuple"):
        Package("tests", ops=(WeightedSort,), batch_rules=ByColumns())  # type: ignore[arg-type]
    with pytest.raises(ExtensionRegistryError, match="pass each package once"):
        tn.vmap(sorted_, packages=(PLAIN, PLAIN))


def test_standard_ops_are_asked_for_once_sizes_are_numbers() -> None:
    shapes: list[Any] = []
    calls: list[Any] = []

    @family_id(namespace="batching-tests", name="numbered", version=1)
    @dataclass(frozen=True)
    class Numbered(ExtensionOp):
        input_count = 1
        output_count = 1

        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            return [(input_dtypes[0], input_shapes[0])]

        def eager_execute(self, inputs: Any) -> Any:
            return [2 * inputs[0]]

        def lower_to_standard_ops(
            self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
        ) -> Any:
            shapes.append(input_shapes[0])
            return [inline(builder, lambda x: 2 * x, *inputs)]

    class Runtime:
        family_id = Numbered.FAMILY_ID

        def execute(self, backend: Any, op: Any, inputs: Any, cache: Any) -> Any:
            calls.append(inputs[0].shape)
            return [2 * inputs[0]]

    package = Package("batching-tests", ops=(Numbered,), runtimes=(Runtime(),))
    x = np.ones((2, 3))

    def single(x: Any) -> Any:
        return apply(Numbered(), x)

    def mapped(x: Any) -> Any:
        return tn.vmap(single)(x)

    for symbolic in (None, {"x": ("b", "n")}):
        assert tn.jit(mapped, symbolic=symbolic)(x).tolist() == (2 * x).tolist()
        assert tn.jit(single, symbolic=symbolic)(x).tolist() == (2 * x).tolist()
        native = tn.jit(mapped, executor="numpy", packages=(package,), symbolic=symbolic)
        assert native(x).tolist() == (2 * x).tolist()
        assert calls == [(3,), (3,)]
        calls.clear()
    assert tn.vmap(single, packages=(package,))(x).tolist() == (2 * x).tolist()
    assert calls == [(3,), (3,)]
    with pytest.raises(UnsupportedExtensionError, match="give the inputs constant sizes"):
        tenferro_xla.export(tn.make_program(single, tn.TensorSpec(("b", "n"))), platforms=("cpu",))
    assert shapes
    assert all(isinstance(size, int) for shape in shapes for size in shape)
