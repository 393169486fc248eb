"""Section 10: the rules are the derivative and its adjoint, on every executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tenferro.errors import TenferroError, UnsupportedADRuleError, UnsupportedDynamicShapeError
from tenferro.ir import NumpyArray, TensorMeta, is_inexact
from tenferro.testing.execution import compared, xla_executor
from tenferro.testing.reference import (
    GraphFunction,
    central,
    difference,
    directions,
    inner,
    rounding,
    traced_inputs,
)
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import FamilySubject
from tenferro.transforms import apply


def _registered(subject: FamilySubject) -> Findings:
    family = subject.op.family_id
    if subject.rules is None or (not subject.rules and subject.rules.batch_rules):
        raise NotCheckedError("no rules are given")
    if not subject.wrt:
        raise NotCheckedError("no input is floating-point or complex")
    if family not in subject.rules:
        if family in subject.terminal:
            raise NotCheckedError("the family is terminal")
        yield f"the rule set has no rules for {family}"
        return
    rule = subject.rules.lookup(family)
    if rule is None or rule.family_id != family:
        yield f"the rule registered for {family} says it is for {getattr(rule, 'family_id', None)}"


def _jvp(subject: FamilySubject) -> Findings:
    if subject.reverse_only:
        yield Note("there is no forward mode; cotangents are compared with differences")
        return
    yield from against_differences(subject, subject.function, subject.smooth, subject.wrt)
    for i in subject.wrt if len(subject.wrt) > 1 else ():
        for found in against_differences(subject, subject.function, subject.smooth, [i]):
            yield f"by input {i} alone: {found}"


def _deterministic(subject: FamilySubject) -> Findings:
    function = subject.function
    active = [function.inputs[i] for i in subject.wrt]
    seeds = traced_inputs([tensor.meta for tensor in active], "seed")
    one, other = (
        [
            None if t is None else t.key
            for t in function.ad.jvp_optional(function.live, active, seeds)
        ]
        for _ in range(2)
    )
    if one != other:
        yield "two passes over one op emit two graphs"


def _symbolic_zeros(subject: FamilySubject) -> Findings:
    """A tangent None is a tangent of zeros, and what no tangent reaches is None."""
    if subject.reverse_only:
        raise NotCheckedError("there is no forward mode")
    wrt, smooth, function = subject.wrt, subject.smooth, subject.function
    steps = directions([smooth[i] for i in wrt], 3)
    for place, i in enumerate(wrt):
        alone = function.jvp(wrt, [j == i for j in wrt])
        yield from _reached(alone, len(smooth), f"with a tangent of input {i} alone, output")
        zeros = [step if at == place else 0 * step for at, step in enumerate(steps)]
        full = function.jvp(wrt)(*smooth, *zeros)
        for out, (one, other) in enumerate(zip(alone(*smooth, steps[place]), full, strict=True)):
            found = difference(one, other, 100 * rounding(*smooth))
            if found:
                yield f"with a tangent of input {i} alone, that of output {out} {found}"


def _adjoint(subject: FamilySubject) -> Findings:
    yield from adjoint(subject, subject.function, subject.smooth, subject.wrt)
    for i in subject.wrt if len(subject.wrt) > 1 else ():
        for found in adjoint(subject, subject.function, subject.smooth, [i]):
            yield f"by input {i} alone: {found}"


def _cotangents(subject: FamilySubject) -> Findings:
    """A cotangent None is a cotangent of zeros, and an input that none reaches gets None."""
    function, wrt, smooth = subject.function, subject.wrt, subject.smooth
    places = [
        i for i, array in enumerate(function(*smooth)) if array is not None and _smooth(array)
    ]
    seeds = directions([np.asarray(function(*smooth)[i]) for i in places], 4)
    for place, i in enumerate(places):
        alone = function.vjp(wrt, [j == i for j in range(len(function.outputs))])
        yield from _reached(alone, len(smooth), f"with a cotangent of output {i} alone, input")
        if len(places) == 1:
            continue
        zeros = [seed if at == place else 0 * seed for at, seed in enumerate(seeds)]
        full = function.vjp(wrt)(*smooth, *zeros)
        for at, (one, other) in enumerate(zip(alone(*smooth, seeds[place]), full, strict=True)):
            found = difference(one, other, 100 * rounding(*smooth))
            if found:
                yield f"with a cotangent of output {i} alone, that of input {wrt[at]} {found}"


def _closed(subject: FamilySubject) -> Findings:
    """Every family that the rules emit has rules, unless it is terminal."""
    assert subject.rules is not None
    met = {subject.op.family_id}
    for function in (subject.function.jvp(subject.wrt), subject.function.vjp(subject.wrt)):
        met |= {op.family_id for op in function.extensions()}
    for family in sorted(met):
        if family not in subject.rules and family not in subject.terminal:
            yield f"a rule emits {family}, which has no rules and is not declared terminal"
    others = sorted(met - {subject.op.family_id})
    if others:
        yield Note(f"the rules emit {', '.join(others)}")


def _second(subject: FamilySubject) -> Findings:
    """JVP and VJP of the JVP and of the VJP, by the seeds too."""
    smooth, wrt = subject.smooth, subject.wrt
    base = len(smooth)
    outputs = [a for a in subject.function(*smooth) if a is not None and _smooth(a)]
    first = {"VJP": (subject.function.vjp(wrt), directions(outputs, 6))}
    if not subject.reverse_only:
        steps = directions([smooth[i] for i in wrt], 5)
        first = {"JVP": (subject.function.jvp(wrt), steps), **first}
    for name, (function, seeds) in first.items():
        arrays = [*smooth, *seeds]
        active = [*wrt, *range(base, len(arrays))]
        try:
            found = list(adjoint(subject, function, arrays, active))
            if not subject.reverse_only:
                found = [*against_differences(subject, function, arrays, active), *found]
        except UnsupportedADRuleError as error:
            if error.family_id not in subject.terminal:
                yield f"the {name}: {error}"
            else:
                yield Note(f"the {name} ends at {error.family_id}")
            continue
        yield from (f"the derivative of the {name}: {text}" for text in found)


def _symbolic(subject: FamilySubject) -> Findings:
    """The rules hold on symbolic sizes, or refuse them with the error for that."""
    steps = directions([subject.arrays[i] for i in subject.wrt], 7)
    seeds = directions([array for array in subject.expected if _smooth(array)], 8)
    for name, given in (("jvp", steps), ("vjp", seeds))[subject.reverse_only :]:
        try:
            function = getattr(subject.applied(subject.symbolic), name)(subject.wrt)
        except UnsupportedDynamicShapeError as error:
            yield Note(f"{name} is refused: {error}")
            continue
        concrete = getattr(subject.applied(subject.metas), name)(subject.wrt)
        for i, (one, other) in enumerate(
            zip(function(*subject.arrays, *given), concrete(*subject.arrays, *given), strict=True)
        ):
            found = difference(one, other, 100 * rounding(*subject.arrays))
            if found:
                yield f"result {i} of the {name} over symbolic sizes {found}"


def _types(subject: FamilySubject) -> Findings:
    """Tangents have the types of outputs, and cotangents those of inputs."""
    function = subject.applied(subject.metas)
    pairs: list[tuple[str, Sequence[TensorMeta | None], Sequence[TensorMeta | None]]] = [
        ("tangent of output", function.metas(), function.jvp(subject.wrt).metas()),
        (
            "cotangent of input",
            [subject.metas[i] for i in subject.wrt],
            function.vjp(subject.wrt).metas(),
        ),
    ]
    for what, expected, found in pairs:
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            if one is not None and one != other:
                yield f"the {what} {i} is {one}, not {other}"


def _executed(subject: FamilySubject) -> Findings:
    """The derivative programs run wherever the op itself does."""
    steps = directions([subject.arrays[i] for i in subject.wrt], 9)
    seeds = directions([array for array in subject.expected if _smooth(array)], 10)
    base = subject.applied(subject.metas)
    for name, function, given in (
        ("JVP", base.jvp(subject.wrt), steps),
        ("VJP", base.vjp(subject.wrt), seeds),
    )[subject.reverse_only :]:
        arrays = [*subject.arrays, *given]
        expected = function(*arrays)
        if subject.register_runtime is not None:
            for text in compared(function, subject.executor(), arrays, expected):
                yield f"the {name} on the registered runtimes: {text}"
            if name == "VJP":
                yield from _eager_vjp(subject, given, expected)
        if subject.runs_on_xla:
            executor = xla_executor(subject.register_xla)
            for text in compared(function, executor, arrays, expected):
                yield f"the {name} on XLA: {text}"


def _eager_vjp(
    subject: FamilySubject, seeds: Sequence[NumpyArray], expected: Sequence[NumpyArray | None]
) -> Iterator[str]:
    """How cotangents in an eager runtime are different from what is expected."""
    runtime = subject.eager_runtime()
    values = [
        runtime.variable(array) if i in subject.wrt else runtime.constant(array)
        for i, array in enumerate(subject.arrays)
    ]
    try:
        result = apply(subject.op, *values)
        outputs = result if isinstance(result, tuple) else (result,)
        smooth = [output for output in outputs if is_inexact(output.dtype)]
        found = runtime.vjp_optional(smooth, [values[i] for i in subject.wrt], seeds)
    except TenferroError as error:
        yield f"the VJP in an eager runtime: {type(error).__name__}: {error}"
        return
    for i, ct, wanted in zip(subject.wrt, found, expected, strict=True):
        array = None if ct is None else np.asarray(ct.detach())
        text = difference(array, wanted, 100 * rounding(*subject.arrays))
        if text:
            yield f"the VJP in an eager runtime: that of input {i} {text}"


def against_differences(
    subject: FamilySubject,
    function: GraphFunction,
    arrays: Sequence[NumpyArray],
    wrt: Sequence[int],
) -> Iterator[str]:
    """How the JVP of a function is different from its central differences."""
    steps = directions([arrays[i] for i in wrt], 11)
    tangents = function.jvp(wrt)(*arrays, *steps)
    expected = central(function, arrays, wrt, steps, subject.step)
    for i, (tangent, change) in enumerate(zip(tangents, expected, strict=True)):
        if change is None and tangent is not None and function.outputs[i] is not None:
            yield f"output {i} is not floating-point, but has a tangent"
            continue
        found = difference(tangent, change, subject.closeness)
        if found:
            yield f"the tangent of output {i} {found} by finite differences"


def adjoint(
    subject: FamilySubject,
    function: GraphFunction,
    arrays: Sequence[NumpyArray],
    wrt: Sequence[int],
) -> Iterator[str]:
    """Whether ⟨ct, J t⟩ = ⟨Jᴴ ct, t⟩, the inner product being Re(conj(a)·b).

    J t is a central difference if there is no forward mode.
    """
    steps = directions([arrays[i] for i in wrt], 12)
    if subject.reverse_only:
        images = central(function, arrays, wrt, steps, subject.step)
    else:
        images = function.jvp(wrt)(*arrays, *steps)
    values = [a for a in function(*arrays) if a is not None and _smooth(a)]
    seeds = directions(values, 13)
    cotangents = function.vjp(wrt)(*arrays, *seeds)
    present = iter(seeds)
    left, size = 0.0, 1.0
    for image, value in zip(images, function(*arrays), strict=True):
        if value is None or not _smooth(value):
            continue
        seed = next(present)
        left += inner(seed, image)
        size += 0.0 if image is None else float(np.abs(seed).ravel() @ np.abs(image).ravel())
    right = sum(inner(ct, step) for ct, step in zip(cotangents, steps, strict=True))
    close = subject.closeness if subject.reverse_only else 100 * rounding(*steps, *seeds)
    if not abs(left - right) <= close * size:
        yield f"<ct, J t> is {left:.9g}, but <J^H ct, t> is {right:.9g}"


def _reached(function: GraphFunction, base: int, what: str) -> Iterator[str]:
    """Outputs that are not symbolic zeros although no seed reaches them."""
    seeds = function.inputs[base:]
    for i, output in enumerate(function.outputs):
        if output is not None and not function.reaches(output, seeds):
            yield f"{what} {i} gets a value that depends on no seed; return None, not zeros"


def _smooth(array: NumpyArray) -> bool:
    return array.dtype.kind in "fc"


_JVP, _VJP = ("jvp",), ("jvp", "adjoint")
_TYPED = (*_VJP, "derivative types")
DERIVATIVES = (
    Clause(9, "rules", "the rule set has rules of the family", _registered, ("reference",)),
    Clause(10, "jvp", "linearize is the derivative", _jvp, ("rules",)),
    Clause(10, "deterministic", "a rule emits one graph", _deterministic, _JVP),
    Clause(10, "tangents None", "symbolic zeros stay None in linearize", _symbolic_zeros, _JVP),
    Clause(10, "adjoint", "transpose_rule is the adjoint of linearize", _adjoint, _JVP),
    Clause(10, "cotangents None", "symbolic zeros stay None in transposes", _cotangents, _VJP),
    Clause(10, "derivative types", "derivatives have the types of values", _types, _VJP),
    Clause(10, "closure", "the families that rules emit have rules", _closed, _VJP),
    Clause(10, "second order", "derivatives can be differentiated", _second, (*_VJP, "closure")),
    Clause(10, "symbolic rules", "rules hold on symbolic sizes", _symbolic, (*_TYPED, "symbolic")),
    Clause(10, "derivative programs", "derivatives run where the op does", _executed, _TYPED),
)
