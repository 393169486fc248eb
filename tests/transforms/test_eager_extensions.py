"""Extension ops on eager tensors: by their runtimes, and never by another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ExecutorError
from tenferro.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionCache,
    ExtensionOp,
    ExtensionRegistry,
    ExtensionRuleSet,
    JvpSite,
    Slots,
    TransposeSite,
    UnregisteredExtensionError,
    UnsupportedADRuleError,
    apply,
    family_id,
    inline,
)
from tests.tolerances import assert_close, rounding

X = np.array([0.5, -1.0, 2.0])
FAMILY = "tenferro-tests.eager_cube.v1"


@family_id(namespace="tenferro-tests", name="eager_cube", version=1)
@dataclass(frozen=True)
class Cube(ExtensionOp):
    """scale · x³, and scale · x."""

    scale: float = 1.0
    input_count = 1
    output_count = 2

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])] * 2

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return inline(builder, lambda x: (self.scale * x * x * x, self.scale * x), *inputs)

    def eager_execute(self, inputs: Sequence[Any]) -> Sequence[Any]:
        raise AssertionError("a runtime owns the execution")


class CubeRule(ExtensionAdRule):
    family_id = FAMILY

    def linearize(self, op: ExtensionOp, at: JvpSite[Any]) -> Slots[Any]:
        assert isinstance(op, Cube)
        tangents: tuple[Any, ...] = inline(
            at,
            lambda x, dx: (3 * op.scale * x * x * dx, op.scale * dx),
            at.primal[0],
            at.tangent[0],
        )
        return tangents

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[Any]) -> Slots[Any]:
        raise AssertionError("the rule emits standard ops")


class CubeRuntime:
    family_id = FAMILY

    def __init__(self) -> None:
        self.calls = 0

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        assert isinstance(op, Cube)
        self.calls += 1
        scale = cache.get_or_make("scale", lambda: op.scale)
        (x,) = inputs
        return scale * x**3, scale * x


def context() -> tn.AdContext:
    rules = ExtensionRuleSet()
    rules.register_rule(CubeRule())
    return tn.AdContext.builder().with_extension_rules(rules).build()


def test_an_extension_op_runs_by_the_runtime_registered_here() -> None:
    runtime = CubeRuntime()

    def register(registry: ExtensionRegistry) -> None:
        registry.register(runtime)

    rt = tn.EagerRuntime(ad_context=context())
    rt.register_extension(register)
    rt.register_extension(register)
    x = rt.variable(X)
    cube, same = apply(Cube(2.0), x)
    assert runtime.calls == 1
    assert rt.extension_caches is not None
    assert rt.extension_caches.stats().entries == 1
    np.testing.assert_allclose(cube.numpy(), 2 * X**3)
    assert not cube.data.flags.writeable
    (dx,) = rt.grad(tn.sum(cube * same), [x])
    assert_close(dx.numpy(), 16 * X**3, rounding(X.dtype))
    (ddx,) = rt.jvp([dx], [x], [np.ones(3)])
    assert_close(ddx.numpy(), 48 * X**2, rounding(X.dtype))


def nested(x: Any) -> Any:
    """The op within branches of rounds of a loop."""

    def body(carry: Any, _: Any) -> Any:
        return tn.cond(carry[0] < 9.0, lambda: apply(Cube(), carry)[0], lambda: carry), None

    return tn.scan(body, x, None, length=2)[0]


@pytest.mark.parametrize("segmented", [True, False])
def test_programs_inside_ops_run_it_by_the_runtime_too(segmented: bool) -> None:
    runtime = CubeRuntime()
    executor = tn.GraphExecutor(tn.NumpyBackend(), segmented=segmented)
    executor.register_extension(lambda registry: registry.register(runtime))
    assert_close(tn.jit(nested, executor=executor)(X), X**9, rounding(X.dtype))
    assert runtime.calls == 2
    rt = tn.EagerRuntime(ad_context=context())
    rt.register_extension(lambda registry: registry.register(runtime))
    assert_close(nested(rt.variable(X)).numpy(), X**9, rounding(X.dtype))
    assert runtime.calls == 4


def test_an_unregistered_family_is_refused_and_not_run_otherwise() -> None:
    rt = tn.EagerRuntime(ad_context=context())
    with pytest.raises(UnregisteredExtensionError, match=f"{FAMILY}: no runtime is registered"):
        apply(Cube(), rt.variable(X))
    with pytest.raises(UnregisteredExtensionError, match=f"{FAMILY}: no runtime is registered"):
        rt.invoke(Extension(Cube()), rt.constant(X))


def test_a_family_without_rules_runs_and_has_no_derivative() -> None:
    rt = tn.EagerRuntime()
    rt.register_extension(lambda registry: registry.register(CubeRuntime()))
    x = rt.variable(X)
    cube, _ = apply(Cube(), x)
    with pytest.raises(UnsupportedADRuleError, match=FAMILY):
        tn.sum(cube).backward()


def test_xla_runs_extension_ops_its_own_way() -> None:
    rt = tn.EagerRuntime("xla", ad_context=context())
    x = rt.variable(X)
    cube, same = apply(Cube(2.0), x)
    np.testing.assert_allclose(cube.numpy(), 2 * X**3)
    (dx,) = rt.grad(tn.sum(cube * same), [x])
    assert_close(dx.numpy(), 16 * X**3, rounding(X.dtype))
    assert rt.extension_caches is None
    with pytest.raises(ExecutorError, match="xla runs extension ops in its own way"):
        rt.register_extension(lambda registry: None)
