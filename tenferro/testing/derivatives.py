"""Derivatives of an extension op against differences and adjoints; batches against single runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from tenferro.core import KeyEmitter, batch
from tenferro.errors import (
    BatchRuleError,
    TenferroError,
    UnsupportedADRuleError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import NumpyArray, TensorMeta, dtype_kind, is_inexact
from tenferro.ops import repeated
from tenferro.ops.extension import batch_rule_name, called_one_by_one
from tenferro.testing.execution import compared, xla_executor
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import (
    FamilySubject,
    TracedGraph,
    central,
    difference,
    directions,
    everything,
    inner,
    rounding,
    traced_inputs,
)
from tenferro.transforms import TracedTensor, apply


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
        for text in against_differences(subject, subject.function, subject.smooth, [i]):
            yield f"by input {i} alone: {text}"


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
            if text := difference(one, other, 100 * rounding(*smooth)):
                yield f"with a tangent of input {i} alone, that of output {out} {text}"


def _adjoint(subject: FamilySubject) -> Findings:
    yield from adjoint(subject, subject.function, subject.smooth, subject.wrt)
    for i in subject.wrt if len(subject.wrt) > 1 else ():
        for text in adjoint(subject, subject.function, subject.smooth, [i]):
            yield f"by input {i} alone: {text}"


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
            if text := difference(one, other, 100 * rounding(*smooth)):
                yield f"with a cotangent of output {i} alone, that of input {wrt[at]} {text}"


def _closed(subject: FamilySubject) -> Findings:
    """Every family that the rules emit has rules, unless it is terminal."""
    assert subject.rules is not None
    families = {subject.op.family_id}
    for function in (subject.function.jvp(subject.wrt), subject.function.vjp(subject.wrt)):
        families |= {op.family_id for op in function.extensions()}
    for family in sorted(families):
        if family not in subject.rules and family not in subject.terminal:
            yield f"a rule emits {family}, which has no rules and is not declared terminal"
    others = sorted(families - {subject.op.family_id})
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
            texts = list(adjoint(subject, function, arrays, active))
            if not subject.reverse_only:
                texts = [*against_differences(subject, function, arrays, active), *texts]
        except UnsupportedADRuleError as error:
            if error.family_id not in subject.terminal:
                yield f"the {name}: {error}"
            else:
                yield Note(f"the {name} ends at {error.family_id}")
            continue
        yield from (f"the derivative of the {name}: {text}" for text in texts)


def _symbolic(subject: FamilySubject) -> Findings:
    """The rules hold on symbolic sizes, or refuse them with the error for that."""
    steps = directions([subject.arrays[i] for i in subject.wrt], 7)
    seeds = directions([array for array in subject.expected if _smooth(array)], 8)
    for name, seed in (("jvp", steps), ("vjp", seeds))[subject.reverse_only :]:
        try:
            function = getattr(subject.applied(subject.symbolic), name)(subject.wrt)
        except UnsupportedDynamicShapeError as error:
            yield Note(f"{name} is refused: {error}")
            continue
        concrete = getattr(subject.applied(subject.metas), name)(subject.wrt)
        for i, (one, other) in enumerate(
            zip(function(*subject.arrays, *seed), concrete(*subject.arrays, *seed), strict=True)
        ):
            if text := difference(one, other, 100 * rounding(*subject.arrays)):
                yield f"result {i} of the {name} over symbolic sizes {text}"


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
    for what, expected, actual in pairs:
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            if one is not None and one != other:
                yield f"the {what} {i} is {one}, not {other}"


def _executed(subject: FamilySubject) -> Findings:
    """The derivative programs run wherever the op itself does."""
    steps = directions([subject.arrays[i] for i in subject.wrt], 9)
    seeds = directions([array for array in subject.expected if _smooth(array)], 10)
    base = subject.applied(subject.metas)
    for name, function, seed in (
        ("JVP", base.jvp(subject.wrt), steps),
        ("VJP", base.vjp(subject.wrt), seeds),
    )[subject.reverse_only :]:
        arrays = [*subject.arrays, *seed]
        expected = function(*arrays)
        if subject.register_runtime is not None:
            for text in compared(function, subject.executor(), arrays, expected):
                yield f"the {name} on the registered runtimes: {text}"
            if name == "VJP":
                yield from _eager_vjp(subject, seed, expected)
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
        cts = runtime.vjp_optional(smooth, [values[i] for i in subject.wrt], seeds)
    except TenferroError as error:
        yield f"the VJP in an eager runtime: {type(error).__name__}: {error}"
        return
    for i, ct, wanted in zip(subject.wrt, cts, expected, strict=True):
        array = None if ct is None else np.asarray(ct.detach())
        text = difference(array, wanted, 100 * rounding(*subject.arrays))
        if text:
            yield f"the VJP in an eager runtime: that of input {i} {text}"


def against_differences(
    subject: FamilySubject,
    function: TracedGraph,
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
        if text := difference(tangent, change, subject.closeness):
            yield f"the tangent of output {i} {text} by finite differences"


def adjoint(
    subject: FamilySubject,
    function: TracedGraph,
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


def _reached(function: TracedGraph, base: int, what: str) -> Iterator[str]:
    """Outputs that are not symbolic zeros although no seed reaches them."""
    seeds = function.inputs[base:]
    for i, output in enumerate(function.outputs):
        if output is not None and not function.reaches(output, seeds):
            yield f"{what} {i} gets a value that depends on no seed; return None, not zeros"


def _smooth(array: NumpyArray) -> bool:
    return dtype_kind(array.dtype) in "fc"


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


Mask = tuple[bool, ...]
Entries = list[tuple[NumpyArray, ...]]

MOST = 5
"""The inputs of which all sets are batched; of more inputs, one, all but one, or all are."""


def _batch(subject: FamilySubject) -> Findings:
    """For sets of batched inputs, with three entries; of one input or all, with one entry too."""
    if not subject.arrays:
        raise NotCheckedError("the op has no inputs")
    entries = _entries(subject)
    function = subject.applied(subject.metas)
    for mask in _masks(len(subject.arrays)):
        singles = [_mixed(entries[0], entry, mask) for entry in entries]
        expected = [subject.expected, *[_reference(subject, entry) for entry in singles[1:]]]
        for count in (3, 1) if mask.count(True) in (1, len(mask)) else (3,):
            try:
                yield from _compared(function, mask, singles[:count], expected[:count])
            except BatchRuleError as error:
                yield f"with {_named(mask)} batched: {error}"
    yield from _way(subject, function)


def _gradient(subject: FamilySubject) -> Findings:
    """The derivative of the batch, and the batch of the derivative, are those of the entries."""
    wrt = subject.wrt
    entries = _entries(subject)
    outputs = [subject.applied(subject.metas)(*entry) for entry in entries]
    smooth = [
        [array for array in row if array is not None and dtype_kind(array.dtype) in "fc"]
        for row in outputs
    ]
    seeds = [directions(row, number) for number, row in enumerate(smooth)]
    rows = [(*entry, *seed) for entry, seed in zip(entries, seeds, strict=True)]
    function = subject.applied(subject.metas)
    whole = (True,) * len(entries[0])
    every = (True,) * len(rows[0])
    try:
        gradient = function.vjp(wrt)
        expected = [gradient(*row) for row in rows]
        gradients = {
            "the gradient of the batch": _batched(function, whole, 3).vjp(wrt),
            "the batch of gradients": _batched(gradient, every, 3),
        }
    except UnsupportedADRuleError as error:
        if error.family_id not in subject.terminal:
            raise
        raise NotCheckedError(f"derivatives end at {error.family_id}") from None
    stacks = _stacks(rows, every)
    for what, pulled in gradients.items():
        for place, (ct, i) in enumerate(zip(pulled(*stacks), wrt, strict=True)):
            text = difference(ct, _stack([row[place] for row in expected]), _tolerance(rows))
            if text:
                yield f"{what}: that of input {i} {text}"


def _way(subject: FamilySubject, function: TracedGraph) -> Iterator[Note]:
    """How the family is batched, if it has no rule."""
    family = subject.op.family_id
    if subject.ad.shapes.registered_rule(batch_rule_name(family)) is not None:
        return
    whole = _batched(function, (True,) * len(subject.arrays), 3)
    ops, _ = everything().topo_order([output.key for output in whole.live])
    looped = any(called_one_by_one(op.primitive) == family for op in ops)
    way = "its op is called for one entry after the other" if looped else "by standard ops"
    yield Note(f"there is no batch rule: {way}")


def _compared(
    function: TracedGraph,
    mask: Mask,
    entries: Sequence[tuple[NumpyArray, ...]],
    expected: Sequence[Sequence[NumpyArray | None]],
) -> Iterator[str]:
    """How a batch is different from the stack of single runs."""
    results = _batched(function, mask, len(entries))(*_stacks(entries, mask))
    for i, result in enumerate(results):
        wanted = _stack([row[i] for row in expected])
        if result is not None and wanted is not None and result.dtype != wanted.dtype:
            text: str | None = f"is of dtype {result.dtype}, expected {wanted.dtype}"
        else:
            text = difference(result, wanted, _tolerance(entries))
        if text:
            yield f"with {_named(mask)} batched, {len(entries)} entries: output {i} {text}"


def _batched(function: TracedGraph, mask: Mask, size: int) -> TracedGraph:
    """The function of stacks of those inputs that the mask marks; all outputs are stacks."""
    inputs = [
        TracedTensor.input((size, *old.meta.exact_shape()), old.dtype, name=f"batch{i}")
        if on
        else old
        for i, (old, on) in enumerate(zip(function.inputs, mask, strict=True))
    ]
    ctx = function.ad.shapes
    pairs = zip(function.inputs, inputs, mask, strict=True)
    stacks = {old.key: new.key for old, new, on in pairs if on}
    live = [output.key for output in function.live]
    emitter = KeyEmitter(ctx)
    results = iter(
        [
            TracedTensor(key if is_batched else repeated(emitter, key, size))
            for key, is_batched in batch(everything(), live, stacks, size, ctx=ctx)
        ]
    )
    outputs = [None if output is None else next(results) for output in function.outputs]
    return TracedGraph(tuple(inputs), tuple(outputs), function.ad)


def _entries(subject: FamilySubject) -> Entries:
    """Three sets of inputs: numbers are scaled a little, and integers in another order.

    Integers stay as they are if the op does not take them in another order.
    """
    first = subject.arrays
    entries = [first]
    for scale in (1.0625, 1.125):
        scaled = [x * x.dtype.type(scale) if dtype_kind(x.dtype) in "fc" else x for x in first]
        turned = [np.flip(x) if dtype_kind(x.dtype) in "iub" else x for x in scaled]
        entries.append(tuple(turned if _is_accepted(subject, turned) else scaled))
    return entries


def _is_accepted(subject: FamilySubject, arrays: Sequence[NumpyArray]) -> bool:
    """Whether the reference implementation takes these inputs."""
    try:
        _reference(subject, arrays)
    except Exception:  # the author's code may refuse them with any error
        return False
    return True


def _reference(subject: FamilySubject, arrays: Sequence[NumpyArray]) -> list[NumpyArray]:
    with np.errstate(all="ignore"):
        return [np.asarray(result) for result in subject.carrier.evaluate(arrays)]


def _masks(count: int) -> list[Mask]:
    """Sets of inputs to batch."""
    if count <= MOST:
        return [mask for mask in product((True, False), repeat=count) if any(mask)]
    ones = [tuple([i == at for i in range(count)]) for at in range(count)]
    return [(True,) * count, *ones, *[tuple([not on for on in mask]) for mask in ones]]


def _mixed(
    first: Sequence[NumpyArray], entry: Sequence[NumpyArray], mask: Mask
) -> tuple[NumpyArray, ...]:
    """The inputs of an entry; those that are not batched are the same for all."""
    return tuple([new if on else old for old, new, on in zip(first, entry, mask, strict=True)])


def _stacks(entries: Sequence[Sequence[NumpyArray]], mask: Mask) -> list[NumpyArray]:
    """The batched inputs as stacks."""
    columns = zip(*entries, strict=True)
    return [np.stack(each) if on else each[0] for each, on in zip(columns, mask, strict=True)]


def _stack(values: Sequence[NumpyArray | None]) -> NumpyArray | None:
    """The values as one array; None is zeros, and None if all are."""
    like = next((value for value in values if value is not None), None)
    if like is None:
        return None
    return np.stack([np.zeros_like(like) if value is None else value for value in values])


def _named(mask: Mask) -> str:
    places = [str(i) for i, on in enumerate(mask) if on]
    return f"input{'s' if len(places) > 1 else ''} {', '.join(places)}"


def _tolerance(entries: Sequence[Sequence[NumpyArray]]) -> float:
    return 100 * rounding(*entries[0])


BATCHES = (
    Clause(8, "batch", "a batch is the stack of single runs", _batch, ("reference",)),
    Clause(
        10,
        "batch of gradients",
        "the gradient of a batch is the batch of gradients",
        _gradient,
        ("batch", "adjoint", "derivative types"),
    ),
)
