"""check_extension: a family of extension ops against the whole contract."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, TenferroError, class_of
from tenferro.ir import Dim, NumpyArray, TensorMeta, TensorSpec
from tenferro.ops.extension import ExtensionOp, ExtensionRuleSet, Package, Register
from tenferro.serialization import PayloadCodecs
from tenferro.testing.derivatives import BATCHES, DERIVATIVES
from tenferro.testing.execution import EXECUTION
from tenferro.testing.identity import FILES, IDENTITY, UNCHANGED, rebuilt
from tenferro.testing.report import Clause, ExtensionReport, FamilyParts, judged
from tenferro.testing.subject import FamilySubject, active, named, some_arrays
from tenferro.testing.types import DYNAMIC_SIZES, TYPES

__all__ = ["CLAUSES", "check_extension"]

CLAUSES: tuple[Clause[FamilySubject], ...] = (
    *IDENTITY, *TYPES, *EXECUTION, *DERIVATIVES, *BATCHES, *DYNAMIC_SIZES, *FILES, UNCHANGED,
)  # fmt: skip
"""What is checked, in order."""


def check_extension(
    op: ExtensionOp,
    *,
    inputs: Sequence[Any] | None = None,
    specs: Sequence[TensorSpec] | None = None,
    symbolic_shapes: Sequence[Sequence[int | str | Dim]] | None = None,
    equal: ExtensionOp | None = None,
    different: Sequence[ExtensionOp] = (),
    rules: ExtensionRuleSet | None = None,
    terminal: Sequence[str] = (),
    wrt: Sequence[int] | None = None,
    packages: Sequence[Package] = (),
    register_runtime: Register | None = None,
    register_xla: Callable[[Any], object] | None = None,
    codecs: PayloadCodecs | None = None,
    skip: Iterable[str] = (),
    tolerance: float = 1e-6,
) -> ExtensionReport:
    """Test an op of a family against every clause of the contract of extension ops.

    What is not given (rules, a runtime, a lowering, codecs) is not checked; the report says so. The
    batch rule, or what stands in for one, is checked in any case.

    Args:
        op: an op of the family.
        inputs: arrays for it, away from kinks and poles.
        specs: their types instead, for random numbers between -1.5 and 1.5.
        symbolic_shapes: the shapes of the inputs with names for sizes. By default extents of one
            size above 1 have one name.
        equal: an op with an equal payload, built apart; by default the dataclass is built again.
        different: ops of the family that are not equal to `op`.
        rules: derivative rules of this family and of those that the rules emit, and batch rules.
        terminal: families that are documented to have no further derivatives.
        wrt: the inputs to differentiate by; by default all floating-point and complex ones.
        packages: the package of the family and those that it needs: rules, runtimes, lowerings
            and codecs that are not given one by one.
        register_runtime: as for `GraphExecutor.register_extension`.
        register_xla: as for `XlaExecutor.register_extension`.
        codecs: how payloads are read from files.
        skip: names of clauses to leave out. Without "jvp" derivatives are compared in reverse mode
            alone, as are those of a family whose rule emits a `ReverseOnlyOp`.
        tolerance: of derivatives against finite differences, in double precision.

    Raises:
        ContractViolationError: clauses are violated; the text lists them, by section.
        ConfigError: the arguments do not fit together.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> import numpy as np, tenferro as tn
    >>> from dataclasses import dataclass
    >>> from tenferro.extension import ExtensionOp, family_id
    >>> @family_id(namespace="my-package", name="twice", version=1)
    ... @dataclass(frozen=True)
    ... class Twice(ExtensionOp):
    ...     input_count = output_count = 1
    ...     def infer_output_meta(self, dtypes, shapes):
    ...         return [(dtypes[0], shapes[0])]
    ...     def eager_execute(self, inputs):
    ...         return [inputs[0] * 2]
    >>> report = check_extension(Twice(), inputs=[np.ones(3)])
    >>> print(report["symbolic"])
    §7 symbolic: infer_output_meta is total on symbolic sizes: holds
    >>> print(report["jvp"])
    §10 jvp: linearize is the derivative: not checked
        needs: rules
    """
    arrays = _arrays(op, inputs, specs)
    _check_options(op, different, skip)
    skip = frozenset(skip)
    passed = FamilyParts(rules, register_runtime, register_xla, codecs)
    parts = passed.filled(op, packages)
    subject = FamilySubject(
        op,
        arrays,
        _symbolic(arrays, symbolic_shapes),
        rebuilt(op) if equal is None else equal,
        tuple(different),
        parts.rules,
        parts.register_runtime,
        parts.register_xla,
        parts.codecs,
        frozenset(terminal),
        active(arrays) if wrt is None else tuple(wrt),
        tolerance,
        _identity(op),
        "jvp" in skip,
    )
    clauses = [clause for clause in CLAUSES if clause.name not in skip]
    report = ExtensionReport(op.family_id, tuple(judged(clauses, subject, skip & {"jvp"})))
    report.require()
    return report


def _arrays(
    op: ExtensionOp, inputs: Sequence[Any] | None, specs: Sequence[TensorSpec] | None
) -> tuple[NumpyArray, ...]:
    if not isinstance(op, ExtensionOp):
        raise ConfigError(f"check_extension: takes an op of the family, as ext.apply, got {op!r}")
    if (inputs is None) == (specs is None):
        raise ConfigError(f"check_extension: {op.family_id}: give either inputs or specs")
    values: object = inputs if specs is None else some_arrays(specs)
    if not isinstance(values, tuple | list):
        raise ConfigError(
            f"check_extension: {op.family_id}: inputs takes a list of arrays, got "
            f"{class_of(values)}; write inputs=[x]"
        )
    arrays = []
    for value in values:
        array = np.array(value, order="C")
        array.setflags(write=False)
        arrays.append(array)
    return tuple(arrays)


def _check_options(op: ExtensionOp, different: Sequence[ExtensionOp], skip: Iterable[str]) -> None:
    """Raise ConfigError for what is not an op, and for names that are not clauses."""
    names = [clause.name for clause in CLAUSES]
    if isinstance(skip, str) or not isinstance(skip, Iterable):
        raise ConfigError(
            f'check_extension: skip takes names of clauses, skip=["jvp"], got {skip!r}'
        )
    for name in skip:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1, 0.3)
            hint = f"did you mean {near[0]!r}?" if near else f"clauses are {', '.join(names)}"
            raise ConfigError(
                f"check_extension: {op.family_id}: skip: {name!r} is not a clause; {hint}"
            )
    for other in different:
        if not isinstance(other, ExtensionOp):
            raise ConfigError(
                f"check_extension: {op.family_id}: different takes ops of the family, got {other!r}"
            )


def _symbolic(
    arrays: Sequence[NumpyArray], shapes: Sequence[Sequence[int | str | Dim]] | None
) -> tuple[TensorMeta, ...]:
    if shapes is None:
        return tuple(named(arrays))
    if [len(shape) for shape in shapes] != [array.ndim for array in arrays]:
        raise ConfigError("check_extension: symbolic_shapes must have the ranks of the inputs")
    return tuple(
        TensorMeta.of(array.dtype, shape) for array, shape in zip(arrays, shapes, strict=True)
    )


def _identity(op: ExtensionOp) -> bytes | None:
    try:
        return op.payload_identity()
    except TenferroError:
        return None
