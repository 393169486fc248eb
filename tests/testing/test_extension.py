"""check_extension: what keeps the contract passes, and each clause catches what breaks it."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ConfigError,
    ContractViolationError,
    ExtensionRegistryError,
    TenferroError,
    UnsupportedADRuleError,
)
from tenferro.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionOp,
    ExtensionRegistry,
    KernelRuntime,
    Package,
    ReverseOnlyOp,
    apply,
    family_id,
    inline,
)
from tenferro.serialization import PayloadCodecs
from tenferro.testing import CLAUSES, check_extension
from tests.ops.extension.cube import CUBE, Cube, Table
from tests.testing import broken
from tests.testing.families import (
    PAIR,
    SQUARE,
    First,
    Pair,
    PairRule,
    Square,
    SquareRule,
    Times,
    X,
    Y,
    Z,
    rule_set,
    runtimes,
)

SLOW = frozenset({"processes", "xla"})
CODECS = PayloadCodecs().register(Pair).register(Square).register(Times)


def violated(op: Any, inputs: Any = (X, Y), skip: Any = SLOW, **options: Any) -> dict[str, str]:
    """The clauses that a family breaks, each with what is wrong."""
    with pytest.raises(ContractViolationError) as raised:
        check_extension(op, inputs=inputs, skip=skip, **options)
    found: dict[str, str] = {}
    for text in raised.value.violations:
        section_and_name, what = text.split(": ", 1)
        name = section_and_name.partition(" ")[2]
        assert section_and_name == f"§{SECTIONS[name]} {name}"
        found[name] = f"{found.get(name, '')}{what}\n"
    assert raised.value.family_id == op.family_id
    assert op.family_id in str(raised.value)
    return found


SECTIONS = {clause.name: clause.section for clause in CLAUSES}


# ------------------------------------------------------------------------------ what is right


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("inputs", [(X, Y), (Z, Z * 1j), (X.astype("f4"), Y.astype("f4"))])
def test_a_family_that_keeps_the_contract_passes(inputs: Any) -> None:
    report = check_extension(
        Pair(), inputs=inputs, different=[Pair(3.0)], codecs=CODECS, skip={"processes"}, **PAIR
    )
    assert {verdict.word for verdict in report.verdicts} == {"holds"}
    assert str(report).startswith("tests.pair.v1: 34 clauses hold\n  §5 family_id: ")


def test_identity_is_checked_in_another_process() -> None:
    assert check_extension(Pair(), inputs=[X, Y], skip={"xla"})["processes"].word == "holds"


def test_a_package_has_all_parts_of_a_family() -> None:
    inputs = [np.array([0.5, -1.5])]
    report = check_extension(Cube(2.0), inputs=inputs, packages=[CUBE], skip={"processes"})
    words = {verdict.name: verdict.word for verdict in report.verdicts}
    for name in ("runtime", "xla", "jvp", "derivative programs", "files"):
        assert words[name] == "holds", name
    table = Table({"a": 2})
    report = check_extension(
        table, inputs=inputs, packages=[CUBE], equal=Table({"a": 2}), skip={"processes", "frozen"}
    )
    assert report["files"].word == "holds"


def test_a_part_that_is_given_comes_before_that_of_the_package() -> None:
    with pytest.raises(ContractViolationError, match="the rule set has no rules for"):
        check_extension(
            Cube(), inputs=[np.ones(2)], packages=[CUBE], rules=rule_set(SquareRule()), skip=SLOW
        )


def test_a_package_without_the_family_is_refused() -> None:
    text = r"check_extension: tests.pair.v1: not a family of 'tenferro-tests-cube'; add the op"
    with pytest.raises(ConfigError, match=text):
        check_extension(Pair(), inputs=[X, Y], packages=[CUBE])
    with pytest.raises(ExtensionRegistryError, match="pass each package once"):
        check_extension(Cube(), inputs=[X], packages=[CUBE, CUBE])


def test_what_is_not_given_is_not_checked_and_the_report_says_so() -> None:
    report = check_extension(Square(), inputs=[X], skip=SLOW)
    assert report["runtime"].notes == ("no register_runtime is given",)
    assert str(report["adjoint"]).endswith("not checked\n    needs: jvp")
    with pytest.raises(KeyError):
        report["no such clause"]


def test_a_family_may_lean_on_families_of_its_own() -> None:
    report = check_extension(Square(), inputs=[Z], codecs=CODECS, skip={"processes"}, **SQUARE)
    assert report["closure"].notes == ("the rules emit tests.times.v1",)
    assert report["xla"].word == "not checked"
    assert "no lowering is registered" in report["xla"].notes[0]


def test_a_registered_lowering_is_compared() -> None:
    def register(lowerings: Any) -> None:
        lowerings.register(Pair.FAMILY_ID, lambda op, x, y: (op.scale * x * y, jnp.sin(x)))

    report = check_extension(
        Pair(), inputs=[X, Y], register_xla=register, skip={"processes"}, **PAIR
    )
    assert report["xla"].word == report["derivative programs"].word == "holds"


def test_a_terminal_family_ends_differentiation() -> None:
    options = {"inputs": [X], "register_runtime": SQUARE["register_runtime"], "skip": SLOW}
    rules = rule_set(SquareRule(), broken.TerminalTimes())
    report = check_extension(Square(), rules=rules, terminal=[Times.FAMILY_ID], **options)
    assert report["second order"].notes == (
        "the JVP ends at tests.times.v1",
        "the VJP ends at tests.times.v1",
    )
    found = violated(Square(), rules=rules, **options)
    assert set(found) == {"second order"}
    assert_matches("tests.times.v1: has no linearize rule", found["second order"])


def test_random_inputs_are_made_of_specs() -> None:
    specs = [tn.TensorSpec(("n", 3)), tn.TensorSpec(("n", 3))]
    assert check_extension(Pair(), specs=specs, skip=SLOW)["symbolic"].word == "holds"


def test_extents_that_are_numbers_are_said_to_be() -> None:
    shapes = [("n", 3), ("n", 3)]
    report = check_extension(Pair(), inputs=[X, Y], symbolic_shapes=shapes, skip=SLOW)
    assert report["sizes"].word == "holds"


def test_the_arguments_must_fit_together() -> None:
    with pytest.raises(ConfigError, match=r"tests\.pair\.v1: give either inputs or specs"):
        check_extension(Pair())
    wrong: Any = 3
    with pytest.raises(ConfigError, match=r"check_extension: takes an op of the family.* got 3"):
        check_extension(wrong, inputs=[])
    with pytest.raises(ConfigError, match="symbolic_shapes must have the ranks of the inputs"):
        check_extension(Pair(), inputs=[X, Y], symbolic_shapes=[("n",), ("n",)])


def test_the_error_lists_all_that_is_wrong_and_can_be_pickled() -> None:
    with pytest.raises(ContractViolationError) as raised:
        check_extension(broken.OtherDtype(), inputs=[X, Y], skip=SLOW)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.violations) == (str(raised.value), raised.value.violations)
    assert isinstance(again, AssertionError)
    assert isinstance(again, TenferroError)


# --------------------------------------------------------------- one broken family for each clause

OPS: list[tuple[str, Callable[[], Any], str]] = [
    ("family_id", broken.MalformedName, "does not match the namespaced format"),
    ("payload", broken.ListPayload, "a list cannot be part of an op's identity"),
    ("frozen", broken.Thawed, "scale can be assigned to"),
    ("frozen", broken.WritableArray, "table is an array that can be written to"),
    ("complete", broken.Forgetful, "scale is not part of the payload"),
    ("equal", broken.Address, "have different payloads"),
    ("clone", broken.OtherClone, "clone\\(\\) has another payload"),
    ("families", broken.NameOfItsOwn, "with the same payload is equal"),
    ("unchanged", broken.CountsItsRuns, "the payload is not what it was"),
    ("pruning", broken.WrongPrune, r"of \(False, True\) gives an op with other results"),
    ("pruning", broken.PruneToOtherResults, r"of \(True, False\) gives an op with other results"),
    ("arity", broken.CountedArity, "input_count is not the same"),
    ("arity", broken.OneInput, "input_count is 1, but 2 inputs are given"),
    ("inference", broken.TooFewOutputs, "expected 2 outputs, got 1"),
    ("symbolic", broken.NotTotal, "infer_output_meta failed on f64"),
    ("symbolic", broken.Collapsed, r"gives f64\[0,0\], f64\[0,0\] for f64\[n2,n3\]"),
    ("sizes", broken.OneSizeOnly, r"output 0 is float64\[3, 4\], but infer_output_meta says"),
    ("guarantees", broken.Upgraded, r"claims f64\[3,3\] for .*, where it may be f64"),
    ("reference", broken.OtherDtype, r"output 0 is float32\[2, 3\]"),
    ("reference", broken.WritesToInputs, "input 0 is written to"),
    ("reference", broken.Moody, "output 0 is another one when the op is called again"),
    ("standard ops", broken.OtherStandardOps, "output 0 is .* expected"),
    ("standard ops", broken.EmitsItself, "it may emit standard ops only"),
    ("standard ops", broken.ExecutesWhileLowering, "eager_execute is called on the way to XLA"),
]


@pytest.mark.parametrize(("clause", "op", "text"), OPS, ids=str)
def test_a_broken_op_is_caught(clause: str, op: Callable[[], Any], text: str) -> None:
    assert_matches(text, violated(op())[clause])


def test_a_family_id_that_depends_on_the_payload_is_caught() -> None:
    found = violated(broken.NameOfPayload(), different=[broken.NameOfPayload(3.0)])
    assert_matches("family_id is 'tests.pair2.v1', but the class has", found["family_id"])
    assert_matches("family_id changes with the payload", found["family_id"])


def test_payloads_that_are_not_told_apart_are_caught() -> None:
    found = violated(broken.Forgetful(), different=[broken.Forgetful(5.0)])
    assert_matches(r"Forgetful\(scale=5.0\) have one identity", found["complete"])


def test_an_identity_of_one_process_alone_is_caught() -> None:
    found = violated(broken.SeededHash(), skip={"xla"})
    assert set(found) == {"processes"}
    assert_matches("with PYTHONHASHSEED=1 an equal op has another payload", found["processes"])


def wrong(op: Any, inputs: Any) -> Any:
    return [2 * result for result in op.eager_execute(inputs)]


def destructive(op: Any, inputs: Any) -> Any:
    inputs[0][...] = 0


def elsewhere(op: Any, inputs: Any) -> Any:
    return [jnp.asarray(result) for result in op.eager_execute(inputs)]


def failing(op: Any, inputs: Any) -> Any:
    raise KeyError("no plan")


RUNTIMES = [
    (runtimes([Pair.FAMILY_ID], wrong), "output 0 is 1.3.* at .*, expected 0.6"),
    (runtimes([Pair.FAMILY_ID], destructive), "assignment destination is read-only"),
    (runtimes([Pair.FAMILY_ID], elsewhere), "returned an ArrayImpl, which is not on numpy"),
    (runtimes([Pair.FAMILY_ID], failing), r"extension: tests.pair.v1: 'no plan'"),
    (runtimes([First.FAMILY_ID]), "registers too little: .*tests.pair.v1: no runtime"),
]


@pytest.mark.parametrize(("register", "text"), RUNTIMES)
def test_a_broken_runtime_is_caught(register: Any, text: str) -> None:
    found = violated(Pair(), [X.astype("f4"), Y.astype("f4")], register_runtime=register)
    assert set(found) == {"runtime"}
    assert_matches(text, found["runtime"])


def test_an_executor_that_falls_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(self: Any, backend: Any, op: Any, inputs: Any, caches: Any) -> Any:
        return tuple(op.op.eager_execute(inputs))

    monkeypatch.setattr(ExtensionRegistry, "require", lambda self, op: None)
    monkeypatch.setattr(ExtensionRegistry, "execute", execute)
    found = violated(Pair())
    assert found == {"unregistered": "a native executor without its runtime runs the op\n"}


LOWERINGS: list[tuple[Any, str]] = [
    (lambda op, x, y: (x * y, jnp.sin(x)), "output 0 by its lowering is 0.33 at .*, expected 0.66"),
    (lambda op, x, y: (op.scale * x * y,), "family_id=tests.pair.v1: expected 2 outputs, got 1"),
    (lambda op, x, y: 1 / 0, "tests.pair.v1: its XLA lowering failed: ZeroDivisionError"),
]


@pytest.mark.parametrize(("lowering", "text"), LOWERINGS)
def test_a_broken_lowering_is_caught(lowering: Any, text: str) -> None:
    found = violated(
        Pair(),
        register_xla=lambda lowerings: lowerings.register(Pair.FAMILY_ID, lowering),
        skip={"processes"},
    )
    assert set(found) == {"xla"}
    assert_matches(text, found["xla"])


def test_a_lowering_of_another_family_is_caught() -> None:
    found = violated(
        Square(),
        [X],
        register_xla=lambda lowerings: lowerings.register(Pair.FAMILY_ID, lambda op, x: x),
        skip={"processes"},
    )
    assert found == {"xla": "register_xla registers no lowering for tests.square.v1\n"}


RULES: list[tuple[str, Any, Any, Any, str]] = [
    ("rules", Pair, (X, Y), [SquareRule()], "the rule set has no rules for tests.pair.v1"),
    ("jvp", Pair, (X, Y), [broken.WrongDerivative()], "the tangent of output 0 is .* differences"),
    ("jvp", Pair, (X, Y), [broken.TooFewTangents()], "its linearize rule returns 1 value"),
    ("deterministic", Pair, (X, Y), [broken.Whimsical()], "two passes over one op emit two graphs"),
    ("tangents None", Pair, (X, Y), [broken.MakesZeros()], "return None, not zeros"),
    ("adjoint", Square, (X,), [SquareRule(), broken.NoAdjoint()], "<ct, J t> is .*, but <J"),
    ("adjoint", Square, (X,), [SquareRule(), broken.NoTranspose()], "failed: ZeroDivisionError"),
    ("cotangents None", broken.Halves, (X, Y), [broken.ZeroCotangents()], "depends on no seed"),
    (
        "derivative types",
        Square,
        (X.astype("f4"),),
        [SquareRule(), broken.Wide()],
        "its transpose rule returns for input 1 f64\\[2,3\\], which must be f32\\[2,3\\]",
    ),
    ("closure", Square, (X,), [broken.EmitsForeign()], "emits tests.first.v1, which has no rules"),
    (
        "second order",
        Square,
        (X,),
        [SquareRule(), broken.WrongSecond()],
        "the derivative of the JVP: the tangent of output 0",
    ),
    ("symbolic rules", Square, (X,), [broken.NeedsNumbers()], "of the size n2: it has no value"),
    ("late sizes", Square, (X,), [broken.DividesByTheBound()], "the gradient by input 0 is"),
    (
        "batch",
        Pair,
        (X, Y),
        [PairRule(), broken.Reversed(Pair)],
        "with inputs 0, 1 batched, 3 entries: output 0 is .*, expected",
    ),
    (
        "batch",
        Pair,
        (X, Y),
        [PairRule(), broken.ForgetsToRepeat()],
        r"its batch rule returns for output 1 f64\[2,3\], which must be f64\[3,2,3\]",
    ),
    ("batch", Pair, (X, Y), [PairRule(), broken.WithoutMarks(Pair)], "return a tuple of 2 pairs"),
    (
        "batch of gradients",
        Pair,
        (X, Y),
        [PairRule(), broken.StopsGradients(Pair)],
        "the gradient of the batch: that of input 0 is 0 at",
    ),
]


def id_of(value: object) -> str:
    """Clauses and names of classes; objects would print with their addresses."""
    match value:
        case str():
            return value
        case type():
            return value.__name__
        case list():
            return "-".join(type(item).__name__ for item in value)
        case _:
            return ""


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(("clause", "op", "inputs", "rules", "text"), RULES, ids=id_of)
def test_broken_rules_are_caught(clause: str, op: Any, inputs: Any, rules: Any, text: str) -> None:
    found = violated(op(), inputs, rules=rule_set(*rules))
    assert set(found) == {clause}
    assert_matches(text, found[clause])


def test_a_rule_whose_families_do_not_run_is_caught() -> None:
    found = violated(
        Square(), [X], rules=SQUARE["rules"], register_runtime=runtimes([Square.FAMILY_ID])
    )
    assert set(found) == {"derivative programs"}
    for what in ("the JVP on the registered runtimes", "the VJP in an eager runtime"):
        assert_matches(f"{what}: .*tests.times.v1: no runtime", found["derivative programs"])


def test_broken_codecs_are_caught() -> None:
    found = violated(Pair(), codecs=PayloadCodecs().register(Square))
    assert found == {"files": "the codecs do not know tests.pair.v1\n"}
    found = violated(Pair(), codecs=PayloadCodecs().register(Pair, lambda values: Pair(9.0)))
    assert_matches("malformed payload: the Pair made from it has another payload", found["files"])


def test_every_clause_has_a_family_that_breaks_it() -> None:
    names = {row[0] for row in (*OPS, *RULES)}
    tested_alone = {"processes", "unregistered", "runtime", "xla", "derivative programs", "files"}
    assert {clause.name for clause in CLAUSES} == names | tested_alone


def assert_matches(pattern: str, text: str) -> None:
    assert re.search(pattern, text), text


@family_id(namespace="tests", name="cubed", version=1)
@dataclass(frozen=True)
class Cubed(ExtensionOp):
    """x cubed, of which only the vjp is known."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] ** 3]


@family_id(namespace="tests", name="cubed_tangent", version=1)
@dataclass(frozen=True)
class CubedTangent(ReverseOnlyOp):
    """The tangent of x cubed."""

    input_count = 2
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[1], input_shapes[1])]


class CubedRule(ExtensionAdRule):
    family = Cubed

    def linearize(self, op: ExtensionOp, at: Any) -> Any:
        return (at.emit(Extension(CubedTangent()), *at.primal, *at.tangent),)


class CubedBackward(ExtensionAdRule):
    family = CubedTangent

    def __init__(self, factor: float = 3.0) -> None:
        self.factor = factor

    def transpose_rule(self, op: ExtensionOp, at: Any) -> Any:
        def pulled(x: Any, ct: Any) -> Any:
            return self.factor * x * x * ct

        return (None, inline(at, pulled, at.inputs[0], *at.ct))


def test_a_family_with_a_vjp_only_is_checked_in_reverse_mode() -> None:
    def package(factor: float) -> Package:
        runtime = KernelRuntime(Cubed)
        rules = (CubedRule(), CubedBackward(factor))
        return Package("tests", ops=(Cubed, CubedTangent), rules=rules, runtimes=(runtime,))

    for skip in (SLOW, {*SLOW, "jvp"}):
        report = check_extension(Cubed(), inputs=[X], packages=[package(3.0)], skip=skip)
        checked = [verdict.name for verdict in report.verdicts if verdict.section in (9, 10)]
        words = {name: report[name].word for name in checked}
        assert {name for name, word in words.items() if word != "holds"} <= {"tangents None"}
        assert len(words) >= 10
        with pytest.raises(ContractViolationError, match=r"§10 adjoint: <ct, J t> is"):
            check_extension(Cubed(), inputs=[X], packages=[package(2.0)], skip=skip)
    whole = package(3.0)
    ad = tn.AdContext(packages=(whole,))
    cube = partial(apply, Cubed())
    assert_allclose = np.testing.assert_allclose
    assert_allclose(tn.grad(lambda x: tn.sum(cube(x)), ad_context=ad)(X), 3 * X**2)
    for executor in ("numpy", "xla"):
        with pytest.raises(UnsupportedADRuleError, match="that only reverse mode takes: use grad"):
            tn.jit(
                lambda x: tn.jvp(cube, (x,), (x,), ad_context=ad)[1],
                executor=executor,
                packages=(whole,),
            )(X)
