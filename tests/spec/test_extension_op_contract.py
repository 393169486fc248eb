"""Sections 4 to 7 of the contract of extension ops: identity, arity, types."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import parse
from tenferro.core import Capacity, resolve_keys
from tenferro.errors import (
    InvalidConfigError,
    MalformedFamilyIdError,
    ShapeError,
    UnsupportedADRuleError,
)
from tenferro.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionOp,
    apply,
    family_id,
    inline,
    parse_family_id,
)
from tenferro.ops.extension import ExtensionCaches
from tenferro.shape import TensorMeta, Unknown, UpperBound, dim
from tests.spec.extensions import SPECS, context, inputs, native, pair, refused
from tests.testing.families import (
    Array,
    First,
    Pair,
    Square,
    SquareRule,
    Times,
    X,
    Y,
    rule_set,
)

# ------------------------------------------------------------------------------------ section 4


def test_4_the_carrier_is_the_only_op_of_the_graph() -> None:
    x, y = inputs("x", "y")
    ops, _ = resolve_keys().topo_order([pair(x, y)[1].key])
    assert [type(op.primitive) for op in ops] == [Extension]


def test_4_equal_payloads_built_apart_are_one_node() -> None:
    x, y = inputs("x", "y")
    assert pair(x, y)[0].key is pair(x, y, float("2.0"))[0].key
    assert pair(x, y)[0].key is not pair(x, y, 3.0)[0].key
    program = tn.GraphCompiler().compile(
        [a + b for a, b in zip(pair(x, y), pair(x, y), strict=True)]
    )
    assert str(program).count("extension[") == 1


def test_4_hash_and_equality_cannot_disagree() -> None:
    for name in ("payload_hash", "payload_eq", "payload_identity"):
        with pytest.raises(TypeError, match=f"{name} is derived from payload"):
            type("Disagrees", (Pair,), {name: lambda self: 0})
    assert len({Extension(Pair(2.0)), Extension(Pair(2.0)), Extension(Pair(3.0))}) == 2
    assert Pair(2.0).payload_hash() == Pair(2.0).payload_hash() != Pair(3.0).payload_hash()
    assert Pair().payload_eq(Pair())
    assert not Pair().payload_eq(First(2.0))


def test_4_a_clone_is_an_equal_op_of_its_own() -> None:
    table = np.arange(3.0)
    table.setflags(write=False)
    op = WithCache(table, {"warm": 1})
    double = op.clone()
    assert double.payload_eq(op)
    assert double.table is not op.table


@family_id(namespace="tests", name="with_cache", version=1)
@dataclass(frozen=True, eq=False)
class WithCache(ExtensionOp):
    """Adds a table; the cache is no payload."""

    table: Any
    cache: dict[str, int] = field(default_factory=dict, compare=False)

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [inputs[0] + self.table]


def test_4_identity_does_not_depend_on_caches() -> None:
    (x,) = inputs("x")
    cold, warm = WithCache(np.arange(3.0)), WithCache(np.arange(3.0), {"warm": 1})
    assert apply(cold, x).key is apply(warm, x).key
    assert "warm" not in str(Extension(warm))


def test_4_caches_are_bounded_and_owned_by_compiler_executor_and_eager_runtime() -> None:
    owners = [tn.GraphCompiler(), native(), native(), tn.EagerRuntime()]
    caches = [owner.extension_caches for owner in owners]
    assert len({id(cache) for cache in caches}) == len(owners)
    for cache in caches:
        assert isinstance(cache, ExtensionCaches)
        cache.capacity = Capacity(2)
        for i in range(5):
            assert cache.of("tests.pair.v1").get_or_make(i, lambda i=i: [i]) == [i]
        stats = cache.stats()
        assert (stats.entries, stats.misses, stats.evictions) == (2, 5, 3)
        cache.clear()
        assert cache.stats().entries == 0


def test_4_a_runtime_gets_the_cache_of_its_owner() -> None:
    one, other = native(), native()
    program = tn.make_program(pair, *SPECS)
    for _ in range(2):
        one.run(program, {"x": X, "y": Y})
    assert (one.extension_caches.stats().misses, one.extension_caches.stats().hits) == (1, 1)
    assert other.extension_caches.stats().entries == 0


def test_4_an_emitted_family_without_rules_is_refused_on_the_next_pass() -> None:
    ctx = context(rule_set(SquareRule()))
    (x,) = inputs("x")
    (dx,) = ctx.jvp([apply(Square(), x)], [x], [x])
    with refused(UnsupportedADRuleError, Times.FAMILY_ID, "no linearize rule is registered"):
        ctx.jvp([dx], [x], [x])


# ------------------------------------------------------------------------------------ section 5


@pytest.mark.parametrize("text", ["tenferro-ext-tropical.einsum.v1", "a.b_c.v0", "A9_.x.v12"])
def test_5_family_ids_have_a_namespace_a_name_and_a_version(text: str) -> None:
    assert str(parse_family_id(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "einsum.v1", "a.b", "a.b.1", "a.b.v", "a.b.v01", "a.b.v-1", "a b.c.v1", "a.b c.v1",
     "a.b.c.v1", "a.9b.v1", ".b.v1", "a.b.v1 ", "a.b.v1\n", "ä.b.v1", "a.b.v\u0661", None, 3],
)  # fmt: skip
def test_5_what_is_not_of_the_format_is_refused(text: Any) -> None:
    with pytest.raises(MalformedFamilyIdError, match="does not match the namespaced format"):
        parse_family_id(text)
    op = type("Op", (Pair,), {"FAMILY_ID": text})()
    with pytest.raises(MalformedFamilyIdError) as raised:
        apply(op, X, Y)
    assert raised.value.family_id == str(text)


def test_5_the_decorator_makes_the_constant() -> None:
    @family_id(namespace="my-crate", name="fft", version=1)
    class FftOp: ...

    assert FftOp.FAMILY_ID == "my-crate.fft.v1"  # type: ignore[attr-defined]
    with pytest.raises(MalformedFamilyIdError, match=r"'my\.crate\.fft\.v1' does not match"):
        family_id(namespace="my.crate", name="fft", version=1)
    with pytest.raises(MalformedFamilyIdError, match="version must be an integer, got '1'"):
        family_id(namespace="my-crate", name="fft", version="1")  # type: ignore[arg-type]


def test_5_different_families_never_unify() -> None:
    twin = type("Twin", (Pair,), {"FAMILY_ID": "tests.pair.v2"})(2.0)
    x, y = inputs("x", "y")
    assert twin.payload_identity() == Pair(2.0).payload_identity()
    assert Extension(twin) != Extension(Pair(2.0))
    assert apply(twin, x, y)[0].key is not pair(x, y)[0].key
    program = tn.GraphCompiler().compile([apply(twin, x, y)[1] + pair(x, y)[1]])
    assert str(program).count("extension[") == 2


def test_5_payloads_are_compared_by_type_and_bits() -> None:
    values = [0.0, -0.0, 1, True, 1.0, "1", b"1", (1,), None, float("nan")]
    assert len({Pair(value).payload_identity() for value in values}) == len(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [[1], {1}, {}, object(), print, np.random.default_rng()])
def test_5_what_has_no_stable_identity_is_no_payload(value: Any) -> None:
    with refused(InvalidConfigError, Pair.FAMILY_ID, "cannot be part of an op's identity"):
        pair(X, Y, value)


def test_5_symbolic_sizes_are_no_payload() -> None:
    with refused(InvalidConfigError, Pair.FAMILY_ID, "a symbolic size cannot be part of it"):
        pair(X, Y, (1, dim("n")))  # type: ignore[arg-type]


def test_5_attributes_that_are_no_payload_are_refused() -> None:
    class Plain(Pair):
        def __init__(self) -> None:
            object.__setattr__(self, "hidden", 1)

        @classmethod
        def payload_fields(cls) -> tuple[str, ...]:
            return ()

    with refused(InvalidConfigError, Pair.FAMILY_ID, "has attributes but no payload"):
        apply(Plain(), X, Y)


def test_5_identity_is_the_same_in_every_process() -> None:
    assert Pair(2.0).payload_hash() == 0x4356EC0DAF86DC62
    code = "from tests.testing.families import Pair; print(Pair(2.0).payload_hash())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        text=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(["", *sys.path])},
    )
    assert int(done.stdout) == 0x4356EC0DAF86DC62


def test_5_programs_with_extensions_are_read_back_from_their_text() -> None:
    program = tn.make_program(pair, *SPECS).exec_program
    assert "extension[family_id='tests.pair.v1', scale=2.0]" in str(program)
    assert parse(str(program), [Pair]).digest == program.digest


# ------------------------------------------------------------------------------------ section 6


@family_id(namespace="tests", name="total", version=1)
@dataclass(frozen=True)
class Total(ExtensionOp):
    """The sum of `count` arrays; the arity is the payload."""

    count: int

    output_count = 1

    @property
    def input_count(self) -> int:
        return self.count

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [np.sum(inputs, axis=0)]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return [inline(builder, lambda *xs: sum(xs[1:], xs[0]), *inputs)]


def test_6_variable_arity_is_stored_in_the_payload() -> None:
    np.testing.assert_allclose(apply(Total(3), X, Y, X), 2 * X + Y)
    np.testing.assert_allclose(tn.jit(lambda *xs: apply(Total(len(xs)), *xs))(X, Y), X + Y)
    assert Extension(Total(2)) != Extension(Total(3))
    with refused(InvalidConfigError, Total.FAMILY_ID, "expected 3 inputs, got 2"):
        apply(Total(3), X, Y)


def test_6_counts_are_numbers() -> None:
    with refused(InvalidConfigError, Total.FAMILY_ID, "input_count must be an integer"):
        apply(Total("two"), X, Y)  # type: ignore[arg-type]


def test_6_an_op_of_several_outputs_gives_a_tuple() -> None:
    product, sine = pair(X, Y)
    np.testing.assert_allclose(product, 2 * X * Y)
    np.testing.assert_allclose(sine, np.sin(X))


def test_6_an_op_without_outputs_gives_nothing() -> None:
    @family_id(namespace="tests", name="silent", version=1)
    class Silent(Total):
        output_count = 0

        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            return []

        def eager_execute(self, inputs: Any) -> Any:
            return []

    assert apply(Silent(1), X) == ()
    assert tn.jit(lambda x: (*apply(Silent(1), x), x))(X)[0].shape == X.shape


@pytest.mark.parametrize(
    ("linearize", "text"),
    [
        (lambda x, dx: tn.sum(dx), r"for output 0 f64\[\], which must be f64\[2,3\]"),
        (lambda x, dx: dx[:1], r"for output 0 f64\[1,3\], which must be f64\[2,3\]"),
        (
            lambda x, dx: tn.astype(dx, "float32"),
            r"for output 0 f32\[2,3\], which must be f64\[2,3\]",
        ),
        (None, "for output 0 a ndarray, which is not a value of the site"),
    ],
)
def test_6_rules_return_tangents_of_the_types_of_the_outputs(linearize: Any, text: str) -> None:
    class Rule(ExtensionAdRule):
        family_id = Pair.FAMILY_ID

        def linearize(self, op: Any, at: Any) -> Any:
            values = (at.primal[0], at.tangent[0])
            return (X if linearize is None else inline(at, linearize, *values)), None

    with refused(InvalidConfigError, Pair.FAMILY_ID, f"its linearize rule returns {text}"):
        tn.jvp(lambda x: pair(x, Y)[0], (X,), (X,), ad_context=context(rule_set(Rule())))


@pytest.mark.parametrize("kind", ["linearize", "transpose"])
def test_6_rules_return_one_entry_for_each_output_or_input(kind: str) -> None:
    class Short(ExtensionAdRule):
        family_id = Pair.FAMILY_ID

        def linearize(self, op: Any, at: Any) -> Any:
            if kind == "linearize":
                return (None,)
            return at.emitter.emit_all(Extension(op), at.tangent[0], at.primal[1])

        def transpose_rule(self, op: Any, at: Any) -> Any:
            return None

    got = "1 value" if kind == "linearize" else "one value"
    with refused(InvalidConfigError, Pair.FAMILY_ID, f"its {kind} rule returns {got}"):
        tn.grad(lambda x: tn.sum(pair(x, Y)[0]), ad_context=context(rule_set(Short())))(X)


# ------------------------------------------------------------------------------------ section 7


def test_7_symbolic_sizes_are_carried() -> None:
    x, y = inputs("x", "y")
    assert str(pair(x, y)[0].meta) == "f64[n,3]"
    compiler = tn.GraphCompiler()
    program = compiler.compile(list(pair(x, y)), inputs=[x, y])
    for rows in (0, 1, 4):
        a, b = np.ones((rows, 3)), np.full((rows, 3), 0.5)
        np.testing.assert_allclose(native().run(program, {x: a, y: b})[0], a)


@pytest.mark.parametrize("extent", [UpperBound(4), Unknown()])
def test_7_no_guarantee_is_made_stronger(extent: Any) -> None:
    known = TensorMeta.of("f64", (2, 3))
    weak = known.with_extents([extent, known.extents[1]])
    for meta in Extension(Pair()).infer_all([weak, known]):
        assert meta == weak

    class Doubled(Pair):
        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            (rows, columns), _ = input_shapes
            return [(input_dtypes[0], (rows * 2, columns))] * 2

    doubled = Extension(Doubled()).infer_all([weak, known])[0].extents[0]
    assert doubled == (UpperBound(8) if isinstance(extent, UpperBound) else Unknown())


def test_7_sizes_that_turn_out_to_differ_are_refused_when_they_are_known() -> None:
    program = tn.make_program(pair, tn.TensorSpec(("n", 3)), tn.TensorSpec(("m", 3)))
    for executor in (native(), txla.XlaExecutor()):
        with pytest.raises(ShapeError, match="assumed n == m, but 2 != 4"):
            executor.run(program, {"x": X, "y": np.ones((4, 3))})


def test_7_inference_that_fails_on_symbolic_sizes_is_a_typed_error() -> None:
    class Fails(Pair):
        def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
            return [(input_dtypes[0], [int(size) for size in input_shapes[0]])] * 2

    x, y = inputs("x", "y")
    with refused(InvalidConfigError, Pair.FAMILY_ID, r"infer_output_meta failed on f64\[n,3\]"):
        apply(Fails(), x, y)


def test_7_a_refusal_of_the_inputs_names_the_family() -> None:
    with pytest.raises(ShapeError, match="pair: sizes differ") as raised:
        pair(X, np.ones((2, 4)))
    assert f"in infer_output_meta of {Pair.FAMILY_ID}" in raised.value.__notes__
