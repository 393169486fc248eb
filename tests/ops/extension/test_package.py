"""Packages: what makes a sound one, and how every surface refuses what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.errors import (
    ADError,
    BackendFailureError,
    ConfigError,
    ExecutorError,
    ExtensionRegistryError,
    InvalidConfigError,
    MalformedFamilyIdError,
    TracingError,
    UnsupportedADRuleError,
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
)
from tenferro.network.sliced_op import EINSUM
from tenferro.ops.extension import for_platform, lowering_of
from tenferro.runtime import with_packages
from tenferro.testing import check_extension
from tests.ops.extension.cube import CUBE, Cube, CubeRule, Runtime, Table, TableRule, cube

DOUBLE = tn.make_program(lambda x: x + x, tn.TensorSpec((2,)))
DATA = tn.dumps(DOUBLE)
X = np.array([1.0, 2.0])

SURFACES: dict[str, Callable[[Any], Any]] = {
    "AdContext": lambda packages: tn.AdContext(packages=packages),
    "AdContext.builder": lambda packages: tn.AdContext.builder().with_packages(*packages),
    "GraphExecutor": lambda packages: tn.GraphExecutor(tn.NumpyBackend(), packages=packages),
    "GraphExecutor.with_packages": lambda packages: tn.GraphExecutor(
        tn.NumpyBackend()
    ).with_packages(packages),
    "EagerRuntime": lambda packages: tn.EagerRuntime(packages=packages),
    "EagerRuntime on XLA": lambda packages: tn.EagerRuntime("xla", packages=packages),
    "XlaExecutor": lambda packages: tenferro_xla.XlaExecutor(packages=packages),
    "jit": lambda packages: tn.jit(lambda x: x, packages=packages),
    "dumps": lambda packages: tn.dumps(DOUBLE, packages=packages),
    "save": lambda packages: tn.save(DOUBLE, "never written", packages=packages),
    "loads": lambda packages: tn.loads(DATA, packages=packages),
    "export": lambda packages: tenferro_xla.export(DOUBLE, packages=packages),
    "to_jax": lambda packages: tenferro_xla.to_jax(DOUBLE, packages=packages),
    "check_extension": lambda packages: check_extension(Cube(), inputs=[X], packages=packages),
}
each_surface = pytest.mark.parametrize("surface", SURFACES)


@each_surface
def test_a_package_given_twice_is_refused(surface: str) -> None:
    text = (
        "packages: family 'tenferro-tests.cube.v1': the package 'tenferro-tests-cube' is given "
        "twice; pass each package once"
    )
    with pytest.raises(ExtensionRegistryError, match=text) as caught:
        SURFACES[surface]((CUBE, CUBE))
    assert caught.value.family_id == Cube.FAMILY_ID
    assert not Path("never written").exists()


@each_surface
def test_a_family_in_two_packages_is_refused_by_the_names_of_both(surface: str) -> None:
    other = Package("another", ops=(Table,), rules=(TableRule(),))
    with pytest.raises(ExtensionRegistryError, match="'tenferro-tests-cube' and 'another' both"):
        SURFACES[surface]((CUBE, other))


@each_surface
def test_a_package_of_tenferro_need_not_and_must_not_be_given(surface: str) -> None:
    with pytest.raises(ExtensionRegistryError, match="'tenferro-einsum' is given twice"):
        SURFACES[surface]((EINSUM,))


@each_surface
def test_what_is_not_a_package_is_refused(surface: str) -> None:
    with pytest.raises(ExtensionRegistryError, match="packages: takes Package values, got a str"):
        SURFACES[surface](("tropical",))


def test_an_executor_that_has_a_package_is_not_given_it_again() -> None:
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=(CUBE,))
    jitted: Any = tn.jit(cube, executor=executor, packages=(CUBE,))
    with pytest.raises(ExtensionRegistryError, match="pass each package once"):
        jitted(X)


@pytest.mark.parametrize("name", ["numpy", "xla"])
def test_with_packages_keeps_what_the_executor_was_made_of(name: str) -> None:
    plain: Any = (
        tn.GraphExecutor(tn.NumpyBackend(), max_bytes=1000)
        if name == "numpy"
        else tenferro_xla.XlaExecutor(max_bytes=1000)
    )
    family = Table.FAMILY_ID
    plain.register_extension(
        lambda to: to.register(*([Runtime(family)] if name == "numpy" else [family, _table]))
    )
    richer = plain.with_packages((CUBE,))
    assert richer is not plain
    program = tn.make_program(lambda x: cube(apply(Table({"a": 1}), x)), tn.TensorSpec((2,)))
    np.testing.assert_allclose(richer.run(program, {"x": X})[0], (X + 1) ** 3)
    with pytest.raises(tn.TenferroError, match=Cube.FAMILY_ID):
        plain.run(program, {"x": X})
    large = tn.make_program(lambda x: x * 2, tn.TensorSpec((200,)))
    with pytest.raises(tn.errors.ExtentError, match="the budget of 1000"):
        richer.run(large, {"x": np.ones(200)})


def _table(op: Table, x: Any) -> Any:
    return x + sum(op.entries.values())


def test_an_executor_that_takes_no_packages_says_so() -> None:
    class Foreign:
        name = "foreign"

    foreign: Any = Foreign()
    assert with_packages(foreign, ()) is foreign
    text = r"the executor 'foreign' has no method with_packages\(packages\), and takes none; reg"
    with pytest.raises(ExecutorError, match=text):
        with_packages(foreign, (CUBE,))


def test_a_family_without_standard_ops_or_lowering_says_what_to_give() -> None:
    bare = Package("bare", ops=(Cube,), rules=(CubeRule(),), runtimes=(Runtime(Cube.FAMILY_ID),))
    assert tn.jit(cube, executor="numpy", packages=(bare,))(X).tolist() == [1.0, 8.0]
    with pytest.raises(UnsupportedExtensionError, match=r"no lowering is registered.* jit, a pac"):
        tn.jit(cube, executor="xla", packages=(bare,))(X)
    program = tn.make_program(cube, tn.TensorSpec((2,)))
    with pytest.raises(UnsupportedExtensionError, match="give export a package that has one"):
        tenferro_xla.export(program, packages=(bare,))


def test_a_lowering_gets_the_platform_if_it_takes_one_by_keyword() -> None:
    asked: list[str | None] = []

    def lowered(op: Cube, x: Any, *, platform: str | None) -> Any:
        asked.append(platform)
        return x * x * x

    package = Package("p", ops=(Cube,), lowerings={Cube: lowered})
    assert tn.jit(cube, executor="xla", packages=(package,))(X).tolist() == [1.0, 8.0]
    program = tn.make_program(cube, tn.TensorSpec((2,)))
    for platforms in (("tpu",), ("cpu", "cuda")):
        tenferro_xla.export(program, platforms=platforms, packages=(package,))
    tenferro_xla.to_jax(program, packages=(package,))(X)
    assert asked == ["cpu", "tpu", None, None]


@pytest.mark.parametrize(
    "lowering",
    [
        lambda op, x, platform=None: (x, platform),
        lambda op, x, **options: (x, options.get("platform")),
        lambda op, *operands: (*operands, None),
        max,
    ],
)
def test_a_lowering_without_that_keyword_gets_the_operands_alone(lowering: Any) -> None:
    assert for_platform(lowering, "cuda") is lowering


def test_a_family_without_a_codec_is_refused_when_a_file_holds_it() -> None:
    bare = Package("bare", ops=(Table,))
    tn.loads(DATA, packages=(bare,))  # holds no such family
    data = tn.dumps(tn.make_program(lambda x: apply(Table({"a": 1}), x), tn.TensorSpec((2,))))
    with pytest.raises(UnsupportedExtensionError, match=r"table\.v1: not registered") as caught:
        tn.loads(data, packages=(bare,))
    assert caught.value.__notes__ == [
        "the package 'bare' has no codec for it; the author of the package adds one, "
        "Package(codecs={...})"
    ]


def test_a_payload_that_cannot_be_read_again_is_not_written() -> None:
    broken = Package("broken", ops=(Table,), codecs={Table: lambda values: Table({})})
    program = tn.make_program(lambda x: apply(Table({"a": 1}), x), tn.TensorSpec((2,)))
    with pytest.raises(InvalidConfigError, match="the Table made from it has another payload"):
        tn.dumps(program, packages=(broken,))
    assert tn.dumps(program, packages=(CUBE,)) == tn.dumps(program)


def test_codecs_come_before_packages() -> None:
    program = tn.make_program(cube, tn.TensorSpec((2,)))
    codecs = tn.PayloadCodecs().register(Cube, lambda values: Cube(values[0]))
    assert tn.loads(tn.dumps(program), codecs=codecs, packages=(CUBE,)).digest == program.digest


class Nameless(ExtensionOp):
    """An op class without a family id."""


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"ops": (Cube, Cube)}, "Package 'p': two op classes are of the family 'tenferro-tests.cu"),
        ({"ops": (Cube,), "rules": (TableRule(),)}, "has a rule for 'tenferro-tests.table.v1', "),
        ({"ops": (Cube,), "rules": (CubeRule(), CubeRule())}, "has a rule for .*cube.v1' twice"),
        (
            {"ops": (), "runtimes": (Runtime(Cube.FAMILY_ID),)},
            "has a runtime for 'tenferro-tests.cube.v1', which is not the family of any of its ops;"
            r" add the op class to ops=",
        ),
        ({"ops": (), "lowerings": {Cube: _table}}, "has a lowering for .* add the op class to ops"),
        ({"ops": (), "codecs": {Cube: Table.of_payload}}, "has a codec for .* add the op class to"),
    ],
)
def test_a_package_whose_parts_do_not_fit_is_refused(parts: Any, text: str) -> None:
    with pytest.raises(ExtensionRegistryError, match=text):
        Package("p", **parts)


def test_an_op_class_without_a_family_id_is_refused() -> None:
    with pytest.raises(MalformedFamilyIdError, match="does not match the namespaced format"):
        Package("p", ops=(Nameless,))


@pytest.mark.parametrize("name", ["no_such_module:f", "tests.ops.extension.cube_xla:nope"])
def test_a_lowering_that_cannot_be_imported_is_refused_by_name(name: str) -> None:
    text = f"the lowering '{name}' cannot be imported: .*; write it as 'module:function'"
    with pytest.raises(ExtensionRegistryError, match=text):
        lowering_of(name)
    package = Package("p", ops=(Cube,), lowerings={Cube: name})
    with pytest.raises(ExtensionRegistryError, match=text):
        tn.jit(cube, executor="xla", packages=(package,))(X)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": 3}, "name must be text, got an int"),
        ({"ops": Cube}, "ops must be a tuple, got an? .*; write ops="),
        ({"rules": (3,)}, "rules has 3, which has no family_id"),
        ({"runtimes": (3,)}, "runtimes has 3, which has no family_id"),
        ({"runtimes": (CubeRule(),)}, "runtimes has .*, of .*cube.v1, which has no execute"),
        ({"lowerings": {"cube": "m:f"}}, "lowerings has the key 'cube', which is not an op class"),
        ({"lowerings": {Cube: 3}}, "lowerings: that of Cube must be a function, got 3"),
        ({"codecs": {Cube: "m:f"}}, "codecs: that of Cube must be a function, got 'm:f'"),
        ({"codecs": [Cube]}, "codecs must be a mapping by op class, got a list"),
    ],
)
def test_a_field_of_another_type_is_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ExtensionRegistryError, match=text):
        Package(**{"name": "cubes", "ops": (Cube,), **fields})


@pytest.mark.parametrize("surface", [name for name in SURFACES if name != "AdContext.builder"])
@pytest.mark.parametrize("packages", [CUBE, None])
def test_packages_come_in_a_sequence(surface: str, packages: Any) -> None:
    with pytest.raises(ExtensionRegistryError, match=r"packages: takes a sequence .*\(package,\)"):
        SURFACES[surface](packages)


class RuleOfTheClass(ExtensionAdRule):
    family = Cube

    def linearize(self, op: Any, at: Any) -> Any:
        return CubeRule().linearize(op, at)


REFERENCE = Package(
    "cubes", ops=(Cube,), rules=(RuleOfTheClass(),), runtimes=(KernelRuntime(Cube),)
)


def test_rules_and_runtimes_may_name_the_op_class() -> None:
    ad = tn.AdContext(packages=(REFERENCE,))
    gradient = tn.grad(lambda x: tn.sum(cube(x)), ad_context=ad)
    np.testing.assert_allclose(tn.jit(gradient, executor="numpy")(X), 3 * X**2)


def total(x: Any) -> Any:
    return tn.sum(cube(x))


@pytest.mark.parametrize(
    "inner",
    [
        tn.grad(total),
        lambda x: tn.jvp(total, (x,), (x,))[1],
        lambda x: tn.vjp(total, x)[1](1.0)[0],
        tn.jacfwd(total),
        tn.jit(tn.vmap(tn.grad(cube))),
    ],
)
def test_a_context_holds_for_the_transforms_inside(inner: Any) -> None:
    ad = tn.AdContext(packages=(REFERENCE,))
    tn.make_program(tn.grad(lambda x: tn.sum(inner(x)), ad_context=ad), X)
    with pytest.raises(UnsupportedADRuleError):
        tn.make_program(tn.grad(total), X)


def test_what_is_not_a_context_or_a_function_of_a_registry_is_refused() -> None:
    rules = ExtensionRuleSet()
    with pytest.raises(ADError, match=r"got an ExtensionRuleSet; .*with_extension_rules\(rule"):
        tn.grad(tn.sum, ad_context=rules)(X)  # type: ignore[arg-type]
    with pytest.raises(ADError, match=r"takes an AdContext, got an int; write .*packages=\(\.\.\."):
        tn.jacfwd(tn.sin, ad_context=3)(X)  # type: ignore[arg-type]
    with pytest.raises(ADError, match="AdContext: takes an ExtensionRuleSet, got an int"):
        tn.AdContext(rules=3)  # type: ignore[arg-type]
    for capacity in (-1, "a", 1.5):
        with pytest.raises(ConfigError, match="capacity: must be a number of at least 0, got"):
            tn.AdContext(capacity=capacity)  # type: ignore[arg-type]
    with pytest.raises(ExtensionRegistryError, match=r"cube\.v1: takes a function of"):
        tn.GraphExecutor(tn.NumpyBackend()).register_extension(KernelRuntime(Cube))  # type: ignore[arg-type]


class Overwrites(KernelRuntime):
    def execute(self, backend: Any, op: Any, inputs: Any, cache: Any) -> Any:
        inputs[0][...] = 0
        return inputs


def test_a_runtime_cannot_write_to_the_arrays_of_the_user() -> None:
    given = X.copy()
    package = Package("cubes", ops=(Cube,), runtimes=(Overwrites(Cube),))
    with pytest.raises(BackendFailureError, match="destination is read-only"):
        tn.jit(cube, executor="numpy", packages=(package,))(given)
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("made", [KernelRuntime, LeadingBatchRule])
def test_a_family_is_named_by_its_class_or_its_id(made: Any) -> None:
    assert made(Cube).family_id == made(Cube.FAMILY_ID).family_id == Cube.FAMILY_ID
    for wrong in (3, Cube(), int):
        with pytest.raises(ExtensionRegistryError, match="takes an op class or a family id, got"):
            made(wrong)


class Duck:
    family_id = Cube.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        return at.tangent

    def transpose_rule(self, op: Any, at: Any) -> Any:
        return at.ct

    def batch(self, op: Any, at: Any) -> Any:
        return at.inputs


def test_rules_are_derived_from_the_classes_of_rules() -> None:
    rules = ExtensionRuleSet()
    with pytest.raises(ExtensionRegistryError, match="takes an ExtensionAdRule with family or"):
        rules.register_rule(Duck())  # type: ignore[arg-type]
    with pytest.raises(ExtensionRegistryError, match="takes an ExtensionBatchRule with family or"):
        rules.register_batch_rule(Duck())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (lambda: {}["a"], "payload.. failed: KeyError: 'a'"),
        (lambda: 3, "payload.. returned an int; return a tuple"),
        (lambda: "abc", "payload.. returned a str; return a tuple"),
    ],
)
def test_a_payload_is_a_tuple(payload: Any, text: str) -> None:
    class Odd(Cube):
        FAMILY_ID = "tenferro-tests.odd.v1"

        def payload(self) -> Any:
            return payload()

    with pytest.raises(InvalidConfigError, match=f"family_id=tenferro-tests.odd.v1: {text}"):
        apply(Odd(), X)


def test_a_tangent_of_another_trace_is_not_read() -> None:
    kept: list[Any] = []

    class Stale(ExtensionAdRule):
        family = Cube

        def linearize(self, op: Any, at: Any) -> Any:
            kept.append(at.tangent[0])
            return (kept[0],)

    ad = tn.AdContext(packages=(Package("cubes", (Cube,), (Stale(),), (KernelRuntime(Cube),)),))
    tn.jvp(cube, (X,), (X,), ad_context=ad)
    with pytest.raises(TracingError, match="is a value of another trace"):
        tn.jvp(cube, (X,), (X,), ad_context=ad)


def test_rules_of_one_object_are_counted_once() -> None:
    class Both(CubeRule, ExtensionBatchRule):
        def batch(self, *arguments: Any) -> Any:
            raise NotImplementedError

    rule, rules = Both(), ExtensionRuleSet()
    rules.register_batch_rule(rule)
    assert (len(rules), rule.family_id in rules) == (0, False)
    rules.register_rule(rule)
    assert list(ExtensionRuleSet() | rules) == [rule]
