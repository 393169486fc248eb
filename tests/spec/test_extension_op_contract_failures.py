"""Section 12 of the contract of extension ops: one test for each row of the failure modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import compile_std_to_exec
from tenferro.core import JvpSite, KeyEmitter, compile_graph, materialize_merge, resolve_keys
from tenferro.errors import (
    BackendFailureError,
    DuplicateRuleError,
    ExecutorError,
    ExtensionRegistryError,
    ExtensionRuntimeRegistryError,
    InvalidConfigError,
    MalformedFamilyIdError,
    ShapeError,
    UnregisteredExtensionError,
    UnsupportedADRuleError,
    UnsupportedExtensionError,
)
from tenferro.extension import Extension, ExtensionOp, apply, family_id
from tests.spec.extensions import SPECS, context, inputs, native, pair, refused
from tests.testing.families import Array, First, Pair, PairRule, X, Y, rule_set, runtimes

PROGRAM = tn.make_program(pair, *SPECS)
GIVEN = {"x": X, "y": Y}


def running(function: Any) -> tn.GraphExecutor:
    return native(runtimes([Pair.FAMILY_ID], function))


def test_12_a_runtime_that_fails_is_a_backend_failure_and_is_not_tried_again() -> None:
    calls: list[int] = []

    def fails(op: Any, given: Any) -> Any:
        calls.append(1)
        raise OSError("the device is on fire")

    with refused(BackendFailureError, Pair.FAMILY_ID, "the device is on fire") as raised:
        running(fails).run(PROGRAM, GIVEN)
    assert str(raised.value) == "extension: tests.pair.v1: the device is on fire"
    assert isinstance(raised.value.__cause__, OSError)
    assert calls == [1]


def test_12_an_eager_execute_that_fails_is_a_backend_failure() -> None:
    class Fails(Pair):
        def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
            raise OSError("no memory")

    with refused(BackendFailureError, Pair.FAMILY_ID, "extension: tests.pair.v1: no memory"):
        apply(Fails(), X, Y)


def test_12_what_a_family_raises_without_its_id_carries_it_all_the_same() -> None:
    def lacks(op: Any, *given: Any) -> Any:
        raise BackendFailureError(op.family_id, "needs cuTENSOR")

    def contradicts(op: Any, *given: Any) -> Any:
        raise ShapeError("the sizes are odd")

    for function in (lacks, contradicts):
        xla = txla.XlaExecutor()
        xla.register_extension(lambda to, f=function: to.register(Pair.FAMILY_ID, f))
        for executor in (running(function), xla):
            with refused(BackendFailureError, Pair.FAMILY_ID, "needs cuTENSOR|the sizes are odd"):
                executor.run(PROGRAM, GIVEN)


@pytest.mark.parametrize("kind", [BackendFailureError, InvalidConfigError, ExecutorError])
def test_12_an_error_of_another_family_or_of_none_names_the_family_that_raised_it(
    kind: type[Exception],
) -> None:
    def fails(op: Any, *given: Any) -> Any:
        if kind is ExecutorError:
            raise ExecutorError("needs cuTENSOR")
        raise kind("other.family.v1", "needs cuTENSOR")  # type: ignore[call-arg]

    class Fails(Pair):
        def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
            fails(self)
            return ()

    xla = txla.XlaExecutor()
    xla.register_extension(lambda to: to.register(Pair.FAMILY_ID, fails))
    text = f"{Pair.FAMILY_ID}: .*needs cuTENSOR"
    for call in (
        lambda: running(fails).run(PROGRAM, GIVEN),
        lambda: xla.run(PROGRAM, GIVEN),
        lambda: apply(Fails(), X, Y),
    ):
        with pytest.raises((BackendFailureError, ExecutorError), match=text):
            call()


def test_12_a_refusal_while_lowering_to_standard_ops_names_the_family() -> None:
    class Refuses(Pair):
        def lower_to_standard_ops(self, *args: Any) -> Any:
            raise ShapeError("the sizes are odd")

    program = tn.make_program(lambda x, y: apply(Refuses(), x, y), *SPECS)
    with pytest.raises(ShapeError, match="the sizes are odd") as raised:
        txla.XlaExecutor().run(program, GIVEN)
    assert f"in lower_to_standard_ops of {Pair.FAMILY_ID}" in raised.value.__notes__


def test_12_a_missing_capability_is_named_and_nothing_falls_back() -> None:
    def lacks(op: Any, given: Any) -> Any:
        raise BackendFailureError(op.family_id, f"{op.family_id}: needs cuTENSOR")

    with refused(BackendFailureError, Pair.FAMILY_ID, "tests.pair.v1: needs cuTENSOR"):
        running(lacks).run(PROGRAM, GIVEN)


def test_12_an_unregistered_family_at_execution_says_how_to_register_it() -> None:
    for executor in (tn.GraphExecutor(tn.NumpyBackend()), native(runtimes([First.FAMILY_ID]))):
        with refused(UnregisteredExtensionError, Pair.FAMILY_ID, "register_extension"):
            executor.run(PROGRAM, GIVEN)
    rt = tn.EagerRuntime()
    with refused(UnregisteredExtensionError, Pair.FAMILY_ID, "register_extension"):
        pair(rt.constant(X), rt.constant(Y))
    with refused(UnregisteredExtensionError, Pair.FAMILY_ID, "register_extension"):
        tn.jit(pair, executor="numpy")(X, Y)


def test_12_an_unregistered_family_at_compile_time() -> None:
    x, y = inputs("x", "y")
    graph = materialize_merge(resolve_keys(), [out.key for out in pair(x, y)])
    with refused(UnsupportedExtensionError, Pair.FAMILY_ID, "tests.pair.v1: not registered"):
        compile_std_to_exec(compile_graph(graph), [x.meta, y.meta], families=["tests.other.v1"])
    with refused(UnsupportedExtensionError, Pair.FAMILY_ID, "tests.pair.v1: not registered"):
        tn.GraphCompiler(families=[]).compile(pair(x, y))
    tn.GraphCompiler(families=[Pair.FAMILY_ID]).compile(pair(x, y))


@pytest.mark.parametrize("kind", ["linearize", "transpose"])
def test_12_a_family_without_a_rule(kind: str) -> None:
    class Itself(PairRule):
        def linearize(self, op: Any, at: Any) -> Any:
            return at.emitter.emit_all(Extension(First(2.0)), at.tangent[0], at.primal[1]) * 2

    rules = rule_set(Itself()) if kind == "transpose" else None
    family = Pair.FAMILY_ID if kind == "linearize" else First.FAMILY_ID
    f = lambda x: tn.sum(pair(x, Y)[0])  # noqa: E731
    with refused(UnsupportedADRuleError, family, f"no {kind} rule is registered") as raised:
        tn.grad(f, ad_context=context(rules))(X)
    assert raised.value.rule == kind
    rt = tn.EagerRuntime(ad_context=context(rules))
    rt.register_extension(runtimes([Pair.FAMILY_ID, First.FAMILY_ID]))
    with refused(UnsupportedADRuleError, family, f"no {kind} rule is registered"):
        f(rt.variable(X)).backward()


def test_12_a_family_twice_in_one_rule_set() -> None:
    with refused(DuplicateRuleError, Pair.FAMILY_ID, "already registered") as raised:
        rule_set(PairRule(), PairRule())
    assert isinstance(raised.value, ExtensionRegistryError)


def test_12_another_number_of_inputs_than_the_op_has() -> None:
    text = "^extension: family_id=tests.pair.v1: expected 2 inputs, got 1$"
    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        apply(Pair(), X)
    (x,) = inputs("x")
    ctx = context(rule_set(PairRule())).shapes
    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        Extension(Pair()).linearize(JvpSite(KeyEmitter(ctx), (x.key,), (), (x.key,)))
    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        Extension(Pair()).infer_all([x.meta])


RESULTS: list[tuple[Any, str]] = [
    (lambda op, given: given[:1], "expected 2 outputs, got 1"),
    (lambda op, given: [*given, X], "expected 2 outputs, got 3"),
    (lambda op, given: given[0], r"expected 2 outputs, got 1"),
    (lambda op, given: [X, X[:1]], r"output 1 is float64\[1, 3\], but infer_output_meta says f64"),
    (lambda op, given: [X, X.astype("i4")], r"output 1 is int32\[2, 3\], but infer_output_meta"),
    (lambda op, given: [X, "x"], "output 1 is a str, but infer_output_meta says"),
]


@pytest.mark.parametrize(("function", "text"), RESULTS)
def test_12_results_that_are_not_what_was_inferred(function: Any, text: str) -> None:
    class Wrong(Pair):
        def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
            return function(self, inputs)  # type: ignore[no-any-return]

    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        running(function).run(PROGRAM, GIVEN)
    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        apply(Wrong(), X, Y)
    rt = tn.EagerRuntime()
    rt.register_extension(runtimes([Pair.FAMILY_ID], function))
    with refused(InvalidConfigError, Pair.FAMILY_ID, text):
        pair(rt.constant(X), rt.constant(Y))


def test_12_inference_that_gives_another_number_of_outputs() -> None:
    class One(Pair):
        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            return [(input_dtypes[0], input_shapes[0])]

    for given in ((X, Y), inputs("x", "y")):
        with refused(InvalidConfigError, Pair.FAMILY_ID, "expected 2 outputs, got 1"):
            apply(One(), *given)


def test_12_inference_that_gives_no_types() -> None:
    for wrong in ([("f99", (2,))] * 2, [3, 4], [(np.dtype("f8"), ("n", -1))] * 2):

        class Wrong(Pair):
            def infer_output_meta(self, dtypes: Any, shapes: Any, wrong: Any = wrong) -> Any:
                return wrong

        with refused(InvalidConfigError, Pair.FAMILY_ID, "not a dtype and a shape"):
            apply(Wrong(), X, Y)


def test_12_a_result_on_another_device_is_not_moved() -> None:
    def elsewhere(op: Any, given: Any) -> Any:
        return [jnp.zeros((2, 3), jnp.float32) for _ in given]

    single = {"x": X.astype("f4"), "y": Y.astype("f4")}
    spec = tn.TensorSpec(("n", 3), "float32")
    program = tn.make_program(pair, spec, spec)
    with refused(BackendFailureError, Pair.FAMILY_ID, "which is not on numpy; results must be"):
        running(elsewhere).run(program, single)


def test_12_rules_with_a_malformed_family_id() -> None:
    class Malformed(PairRule):
        family_id = "tests.pair"

    with refused(MalformedFamilyIdError, "tests.pair", "namespaced format") as raised:
        rule_set(Malformed())
    assert isinstance(raised.value, ExtensionRegistryError)


def test_12_runtimes_and_lowerings_with_a_malformed_family_id() -> None:
    with refused(MalformedFamilyIdError, "tests.pair", "namespaced format") as raised:
        native(runtimes(["tests.pair"]))
    assert isinstance(raised.value, ExtensionRuntimeRegistryError)
    with refused(MalformedFamilyIdError, "tests.pair", "namespaced format"):
        tn.EagerRuntime().register_extension(runtimes(["tests.pair"]))
    with refused(MalformedFamilyIdError, "tests.pair", "namespaced format"):
        txla.XlaExecutor().register_extension(
            lambda lowerings: lowerings.register("tests.pair", lambda op, x: x)
        )


def test_12_runtimes_are_registered_once_and_the_first_stays() -> None:
    executor = running(lambda op, given: [given[0], given[0]])
    executor.register_extension(runtimes([Pair.FAMILY_ID]))
    np.testing.assert_array_equal(executor.run(PROGRAM, GIVEN)[1], X)


def test_12_pruned_ops_that_are_not_what_was_asked_for() -> None:
    class TooMany(Pair):
        def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
            return self

    class OtherTypes(Pair):
        def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
            @family_id(namespace="tests", name="half", version=1)
            class Half(First):
                def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
                    return [(np.dtype("f4"), input_shapes[0])]

            return Half(2.0)

    for op, text in (
        (TooMany(), "prune_outputs gave 2 inputs and 2 outputs, asked for 2 and 1"),
        (OtherTypes(), r"prune_outputs gave an op that makes f32\[n,3\], asked for f64\[n,3\]"),
    ):
        with refused(InvalidConfigError, Pair.FAMILY_ID, text):
            tn.make_program(lambda x, y, op=op: apply(op, x, y)[0], *SPECS)


LOWERED: list[tuple[Any, type[Any], str]] = [
    (lambda b, xs: xs[:1], InvalidConfigError, r"gives f64\[2,3\], but infer_output_meta says"),
    (lambda b, xs: 1 / 0, InvalidConfigError, "lower_to_standard_ops failed on f64.*ZeroDivision"),
    (
        lambda b, xs: b.emit_all(Extension(Pair()), *xs),
        InvalidConfigError,
        "lower_to_standard_ops emitted an op of tests.pair.v1; it may emit standard ops only",
    ),
    (lambda b, xs: xs[0], InvalidConfigError, "returned 0; return a list of values of the builder"),
    (lambda b, xs: [None, xs[0]], InvalidConfigError, r"returned \[None, 0\]; return a list"),
    (lambda b, xs: None, UnsupportedExtensionError, "has no standard-op form for f64"),
]


@pytest.mark.parametrize(("function", "error", "text"), LOWERED)
def test_12_standard_ops_that_are_not_what_was_inferred(
    function: Any, error: Any, text: str
) -> None:
    class Lowered(Pair):
        def lower_to_standard_ops(
            self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
        ) -> Any:
            return function(builder, inputs)

    program = tn.make_program(lambda x, y: apply(Lowered(), x, y), *SPECS)
    with refused(error, Pair.FAMILY_ID, text):
        txla.XlaExecutor().run(program, GIVEN)


def test_12_what_is_no_extension_op() -> None:
    with pytest.raises(InvalidConfigError, match="apply: takes an ExtensionOp, got an int"):
        apply(3, X)  # type: ignore[arg-type]
