"""A class of ops that is defined again runs its own code; files and digests stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import ExtensionRegistryError
from tenferro.extension import (
    DType,
    Extension,
    ExtensionAdRule,
    ExtensionOp,
    LeadingBatchRule,
    OutputMeta,
    Package,
    apply,
    family_id,
    inline,
)
from tenferro.ir import payload
from tenferro.ops import Elementwise
from tenferro.ops.functions import OpFunction
from tenferro.ops.functions import apply as apply_function
from tenferro.runtime import HOST_PLANS
from tenferro_xla import lower

X = np.array([1.0, 2.0])


def defined(factor: float, named: bool = False) -> tuple[type[ExtensionOp], Package]:
    """A class that multiplies by a factor, as a notebook defines it again, and its package."""

    @family_id(namespace="redefined-tests", name="scaled", version=1)
    @dataclass(frozen=True)
    class Scaled(ExtensionOp):
        """Multiplies by a factor that is not in the payload."""

        input_count = 1
        output_count = 1

        def infer_output_meta(
            self, input_dtypes: Sequence[DType], input_shapes: Sequence[Any]
        ) -> list[OutputMeta]:
            return [(input_dtypes[0], input_shapes[0])]

        def eager_execute(self, inputs: Sequence[Any]) -> list[Any]:
            return [inputs[0] * factor]

        def lower_to_standard_ops(
            self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
        ) -> list[Any]:
            return [inline(builder, lambda x: x * factor, *inputs)]

    class Rule(ExtensionAdRule):
        """Linear."""

        family = Scaled

        def linearize(self, op: ExtensionOp, at: Any) -> Any:
            return (inline(at, lambda dx: factor * dx, *at.tangent),)

    class Runtime:
        """Reads the factor from the cache."""

        family_id = Scaled.FAMILY_ID

        def execute(self, backend: Any, op: ExtensionOp, inputs: Any, cache: Any) -> list[Any]:
            return [inputs[0] * cache.get_or_make("factor", lambda: factor)]

    lowerings: Any = {Scaled: lambda op, x: x * factor} if named else {}
    package = Package(
        "redefined-tests",
        ops=(Scaled,),
        rules=(Rule(),),
        runtimes=(Runtime(),),
        lowerings=lowerings,
        batch_rules=(LeadingBatchRule(Scaled),),
    )
    return Scaled, package


OLD, NEW = defined(1.0), defined(100.0)


def of(op_class: type[ExtensionOp]) -> Callable[[Any], Any]:
    """A function of a class, which is its own each time."""
    return lambda x: apply(op_class(), x)


def in_a_loop(op_class: type[ExtensionOp]) -> Callable[[Any], Any]:
    """The op in the body of a loop."""
    return lambda x: tn.lax.fori_loop(0, 2, lambda _, c: apply(op_class(), c), x)


def batched(op_class: type[ExtensionOp]) -> Callable[[Any], Any]:
    """The op under vmap."""
    return lambda x: tn.vmap(of(op_class))(x)


@pytest.mark.parametrize("function", [of, in_a_loop, batched])
def test_each_class_runs_its_own_code_on_both_executors(function: Any) -> None:
    results = []
    for op_class, package in (OLD, NEW):
        native = tn.jit(function(op_class), executor="numpy", packages=(package,))(X)
        compiled = tn.jit(function(op_class))(X)
        np.testing.assert_allclose(native, compiled)
        results.append(np.asarray(compiled)[0])
    assert results == ([1.0, 1e4] if function is in_a_loop else [1.0, 100.0])
    sums = tn.jit(lambda x: function(OLD[0])(x) + function(NEW[0])(x))(X)
    assert float(sums[0]) == sum(results)


def test_one_executor_compiles_both() -> None:
    (old, _), (new, _) = OLD, NEW
    programs = [tn.make_program(of(each), tn.TensorSpec(("n",))) for each in (old, new)]
    assert programs[0].digest == programs[1].digest
    assert programs[0].exec_program != programs[1].exec_program
    executor = tenferro_xla.XlaExecutor("cpu")
    assert [float(executor.run(each, {"x": X})[0][0]) for each in programs] == [1.0, 100.0]
    assert [float(executor.run_op(Extension(each()), executor.put(X))[0][0]) for each in (old, new)]
    lowered = [executor.lower(each, {"x": X}).compile() for each in programs]
    assert lowered[0] is not lowered[1]


def test_two_classes_are_two_nodes_of_one_graph_and_one_op_of_files() -> None:
    (old, _), (new, package) = OLD, NEW
    assert Extension(old()) != Extension(new())
    assert Extension(old()).encoded == Extension(new()).encoded
    assert Extension(old()) == Extension(old())
    program = tn.make_program(of(old), tn.TensorSpec((2,)))
    loaded = tn.loads(tn.dumps(program), packages=(package,))
    assert loaded.digest == program.digest
    np.testing.assert_allclose(tn.jit(loaded)(X), 100 * X)


def test_plans_of_eager_runtimes_and_of_tensors_on_the_host_are_of_one_class() -> None:
    def twice(op_class: type[ExtensionOp], x: Any) -> Any:
        return [apply(op_class(), x) for _ in range(10)][-1]

    HOST_PLANS.clear()
    for op_class, package in (OLD, NEW):
        factor = 1.0 if op_class is OLD[0] else 100.0
        np.testing.assert_allclose(twice(op_class, tn.asarray(X)), factor * X)
        runtime = tn.EagerRuntime(packages=(package,))
        v = runtime.variable(X)
        tn.sum(twice(op_class, v)).backward()
        np.testing.assert_allclose(v.grad, [factor, factor])


def test_contexts_of_each_class_differentiate_by_its_own_rule() -> None:
    for op_class, package in (OLD, NEW):
        ad = tn.AdContext(packages=(package,))
        function = of(op_class)
        found = tn.jit(tn.grad(lambda x, f=function: tn.sum(f(x)), ad_context=ad))(X)
        np.testing.assert_allclose(found, np.full(2, 1.0 if op_class is OLD[0] else 100.0))


def test_what_a_context_has_of_another_class_is_refused() -> None:
    old_class, old = defined(1.0, named=True)
    new_class, _ = defined(100.0, named=True)
    text = "redefined-tests.scaled.v1.*defined again; make the package again"
    for what, run in {
        "lowering": lambda f: tn.jit(f, packages=(old,))(X),
        "runtime": lambda f: tn.jit(f, executor="numpy", packages=(old,))(X),
        "rule": lambda f: tn.make_program(
            tn.grad(lambda x: tn.sum(f(x)), ad_context=tn.AdContext(packages=(old,))),
            tn.TensorSpec((2,)),
        ),
        "batch rule": lambda f: tn.make_program(tn.vmap(f, packages=(old,)), tn.TensorSpec((2,))),
    }.items():
        run(of(old_class))
        with pytest.raises(ExtensionRegistryError, match=f"the {what} of another one"):
            run(of(new_class))
        with pytest.raises(ExtensionRegistryError, match=text):
            run(of(new_class))


def primitive(factor: float) -> Any:
    """An op of no family that multiplies by a factor, defined again."""

    @payload
    class Scaled(Elementwise, name="redefined_scaled"):
        kinds = "f"

        def numpy(self, x: Any) -> Any:
            return np.multiply(x, factor)

    def rule(op: Any, x: jax.Array) -> jax.Array:
        return x * factor

    rule.__annotations__ = {"op": Scaled}
    lower.register(rule)
    op = Scaled()

    def function(x: Any) -> Any:
        return apply_function(OpFunction(op), x)

    return op, function


def test_a_primitive_that_is_defined_again_runs_its_own_code() -> None:
    (old, of_old), (new, of_new) = primitive(1.0), primitive(100.0)
    assert old != new
    assert old.encoded == new.encoded
    programs = [tn.make_program(f, tn.TensorSpec((2,))) for f in (of_old, of_new)]
    assert programs[0].digest == programs[1].digest
    assert programs[0].exec_program != programs[1].exec_program
    for executor in ("numpy", "xla"):
        found = [tn.jit(f, executor=executor)(X)[0].item() for f in (of_old, of_new)]
        looped = tn.jit(
            lambda x: tn.lax.fori_loop(0, 2, lambda _, c: of_new(c), x) + of_old(x),
            executor=executor,
        )
        assert (found, looped(X)[0].item()) == ([1.0, 100.0], 10001.0)
