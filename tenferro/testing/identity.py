"""The names, the payloads and the files of extension ops."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tenferro.core import input_key, op_key
from tenferro.errors import UnsupportedExtensionError, class_of
from tenferro.ir import TensorInput, dtype_kind, encode
from tenferro.ops.extension import Extension, ExtensionOp, attributes_of, parse_family_id
from tenferro.serialization import PayloadCodecs, dumps, loads
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import FamilySubject, difference, register_references

# Names and payloads: sections 4 and 5 of the contract.

_IDENTITY_ELSEWHERE = """
import dataclasses, pickle, sys
op = pickle.load(sys.stdin.buffer)
if dataclasses.is_dataclass(op):
    op = dataclasses.replace(op)
sys.stdout.write(op.family_id + " " + op.payload_identity().hex())
"""


def rebuilt(op: ExtensionOp) -> ExtensionOp:
    """An op of the same fields, made apart."""
    try:
        double = op.clone()
        return _replaced(double) if dataclasses.is_dataclass(double) else double
    except Exception:  # what hinders it is reported where clones are judged
        return op


def _replaced(op: Any) -> Any:
    return dataclasses.replace(op)


def _family(subject: FamilySubject) -> Findings:
    op = subject.op
    parse_family_id(op.family_id)
    constant = getattr(type(op), "FAMILY_ID", None)
    if constant is None:
        yield "the class has no FAMILY_ID; name it with @family_id(...)"
    elif constant != op.family_id:
        yield f"family_id is {op.family_id!r}, but the class has FAMILY_ID {constant!r}"
    for other in (subject.equal, *subject.different):
        if other.family_id != op.family_id:
            yield f"family_id changes with the payload: {op.family_id!r}, {other.family_id!r}"


def _payload(subject: FamilySubject) -> Findings:
    first, second = subject.op.payload_identity(), subject.op.payload_identity()
    if first != second:
        yield "two calls of payload() give two payloads"
    Extension(subject.op)
    hash(subject.op.payload_hash())


def _frozen(subject: FamilySubject) -> Findings:
    op = subject.op
    for name in _attributes(op):
        value = getattr(op, name)
        try:
            setattr(op, name, value)
        except (AttributeError, TypeError):
            pass
        else:
            yield f"{name} can be assigned to; make the class a frozen dataclass"
        if isinstance(value, np.ndarray) and value.flags.writeable:
            yield f"{name} is an array that can be written to; call setflags(write=False) on it"
        if isinstance(value, list | dict | set):
            yield f"{name} is {class_of(value)}, which can be changed; use a tuple"


def _complete(subject: FamilySubject) -> Findings:
    """Exchange each field for another value, and see whether the payload notices."""
    op = subject.op
    for name in _attributes(op):
        value = getattr(op, name)
        other = _another(value)
        if other is None:
            continue
        changed = copy.copy(op)
        object.__setattr__(changed, name, other)
        try:
            same = encode(tuple(changed.payload())) == encode(tuple(op.payload()))
        except Exception:  # payload() may raise anything on such a field
            continue  # it reads the field: it takes part
        if same:
            yield (
                f"{name} is not part of the payload; return it from payload(), or declare it "
                "field(compare=False) if it changes no result"
            )
    yield from _uncompared(subject)
    for different in subject.different:
        if op.payload_eq(different) or Extension(op) == Extension(different):
            yield f"{op!r} and {different!r} have one identity"


def _equal(subject: FamilySubject) -> Findings:
    op, other = subject.op, subject.equal
    if not (op.payload_eq(other) and other.payload_eq(op)):
        yield f"{op!r} and {other!r}, built apart from equal fields, have different payloads"
        return
    if op.payload_hash() != other.payload_hash():
        yield "equal payloads have different hashes"
    inputs = tuple([input_key(TensorInput(f"x{i}", meta)) for i, meta in enumerate(subject.metas)])
    if op_key(Extension(op), inputs) is not op_key(Extension(other), inputs):
        yield "equal payloads built apart are two nodes of a graph"


def _clone(subject: FamilySubject) -> Findings:
    double = subject.op.clone()
    if type(double) is not type(subject.op):
        yield f"clone() of {class_of(subject.op)} is {class_of(double)}"
    elif not double.payload_eq(subject.op):
        yield "clone() has another payload"


def _families_apart(subject: FamilySubject) -> Findings:
    op = subject.op
    other = f"{op.family_id}0"
    kind = type(type(op).__name__, (type(op),), {"FAMILY_ID": other, "__slots__": ()})
    twin = copy.copy(op)
    try:
        object.__setattr__(twin, "__class__", kind)
    except TypeError as error:
        raise NotCheckedError(f"the class cannot be derived from: {error}") from None
    if op.payload_eq(twin) or Extension(op) == Extension(twin):
        yield f"an op of {other} with the same payload is equal"


def _everywhere(subject: FamilySubject) -> Findings:
    op = subject.op
    expected = f"{op.family_id} {op.payload_identity().hex()}"
    if type(op).__module__ == "__main__":
        raise NotCheckedError("the class is defined in __main__; put it into a module")
    try:
        data = pickle.dumps(op)
    except Exception as error:  # __reduce__ and __getstate__ may raise anything
        raise NotCheckedError(f"the op cannot be pickled to be sent there: {error}") from None
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = _elsewhere(data, seed)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise NotCheckedError(f"the op cannot be made there: {''.join(reason)}")
    if done.stdout.decode() != expected:
        yield f"with PYTHONHASHSEED={seed} an equal op has another payload"


def _elsewhere(data: bytes, seed: str) -> subprocess.CompletedProcess[bytes]:
    """Make the op in another process, with another seed of string hashes."""
    return subprocess.run(
        [sys.executable, "-c", _IDENTITY_ELSEWHERE],
        input=data,
        capture_output=True,
        check=False,
        timeout=120,
        env={
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(path for path in [os.getcwd(), *sys.path] if path),
        },
    )


def _unchanged(subject: FamilySubject) -> Findings:
    """The last clause: whatever ran since the first one, the identity is still the same."""
    if subject.identity is None:
        raise NotCheckedError("the op has no identity")
    if subject.op.payload_identity() != subject.identity:
        yield "the payload is not what it was before the op ran; keep what changes in the cache"
    else:
        yield Note(f"payload_hash is {subject.op.payload_hash():#018x}")


def _attributes(op: Any) -> list[str]:
    """The fields that must be payload: those that take part in comparison, or all attributes."""
    if dataclasses.is_dataclass(op):
        return [field.name for field in dataclasses.fields(op) if field.compare]
    return attributes_of(op)


def _uncompared(subject: FamilySubject) -> Iterator[str]:
    """Fields that are declared not to change results, and do."""
    op: Any = subject.op
    fields: tuple[dataclasses.Field[Any], ...] = ()
    if dataclasses.is_dataclass(op):
        fields = dataclasses.fields(op)
    for field in fields:
        other = None if field.compare or not field.init else _another(getattr(op, field.name, None))
        if other is None:
            continue
        changed = copy.copy(op)
        object.__setattr__(changed, field.name, other)
        try:
            with np.errstate(all="ignore"):
                results = Extension(changed).evaluate(subject.arrays)
        except Exception:  # the author's code may raise anything on such a value
            continue
        if any(
            not np.array_equal(one, result, equal_nan=dtype_kind(result.dtype) in "fc")
            for one, result in zip(subject.expected, results, strict=True)
        ):
            yield f"{field.name} is declared field(compare=False), but changes results"


def _another(value: Any) -> Any:
    """A different value of the same kind, or None where none comes to mind."""
    match value:
        case bool():
            return not value
        case int() | float() | complex():
            return value + 1 if value == value + 0 else 0.0
        case str():
            return f"{value}'"
        case bytes():
            return value + b"'"
        case tuple():
            return (*value, "another")
        case np.ndarray():
            return np.concatenate([value.ravel(), value.ravel()[:1], np.ones(1, value.dtype)])
        case _:
            return None


IDENTITY = (
    Clause(5, "family_id", "family_id has the format, and is one for the class", _family),
    Clause(5, "payload", "the payload has canonical bytes", _payload),
    Clause(5, "frozen", "an op cannot be changed", _frozen),
    Clause(5, "complete", "every field takes part in the identity", _complete, ("payload",)),
    Clause(5, "equal", "equal payloads built apart are one node", _equal, ("family_id", "payload")),
    Clause(4, "clone", "clone() is an equal op", _clone, ("payload",)),
    Clause(5, "families", "families are never equal", _families_apart, ("family_id", "payload")),
    Clause(5, "processes", "identity is one in every process", _everywhere, ("payload",)),
)
UNCHANGED = Clause(4, "unchanged", "identity does not depend on what ran", _unchanged, ("payload",))


# Files: section 11 of the contract.


def _saved(subject: FamilySubject) -> Findings:
    """A program with the op is written, read back, equal, and gives the same results."""
    if subject.codecs is None:
        raise NotCheckedError("no codecs are given")
    if not subject.codecs.knows(subject.op.family_id):
        yield f"the codecs do not know {subject.op.family_id}"
        return
    function = subject.applied(subject.metas)
    program = function.program()
    data = dumps(program)
    try:
        loads(data, codecs=PayloadCodecs())
    except UnsupportedExtensionError as error:
        if error.family_id != subject.op.family_id:
            yield f"without codecs the error names another family: {error}"
    else:
        yield "the file is read without the codec of the family"
    loaded = loads(data, codecs=subject.codecs)
    if loaded.digest != program.digest or dumps(loaded) != data:
        yield "the program that was read is not the one that was written"
    executor = subject.executor()
    executor.register_extension(lambda registry: register_references(registry, loaded))
    names = [declared.name for declared in loaded.inputs]
    results = executor.run(loaded, dict(zip(names, subject.arrays, strict=True)))
    for i, (one, other) in enumerate(zip(results, subject.expected, strict=True)):
        if text := difference(
            np.asarray(one), other, 0.0 if dtype_kind(other.dtype) in "iub" else 1e-6
        ):
            yield f"output {i} of the program that was read {text}"


FILES = (Clause(11, "files", "a program is read as it was written", _saved, ("reference",)),)
