"""An extension op inside graphs and programs, its answers checked.

A family without a rule is batched by the ops by which it is replaced. If there are none, or the
executor that the batch is traced for runs the family by its own runtime, its op is called for one
entry after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    ResolvedView,
    Slots,
    TransposeSite,
    V,
    batch,
    resolve_keys,
)
from tenferro.errors import (
    ADRuleError,
    BackendFailureError,
    BatchRuleError,
    DTypeError,
    ExecutorError,
    ExtensionError,
    ExtensionRuleError,
    InvalidConfigError,
    TenferroError,
    TracingError,
    UnsupportedADRuleError,
    UnsupportedDynamicShapeError,
    class_of,
    counted,
)
from tenferro.ir import (
    Category,
    Dim,
    DimExpr,
    Exact,
    ExecBuilder,
    Guard,
    InputDim,
    Leaf,
    MaskSite,
    NumpyArray,
    Pruned,
    ShapeExtent,
    Sizes,
    TensorMeta,
    Unknown,
    UpperBound,
    bind,
    collecting_guards,
    encode,
    fresh_input,
    grows,
    leaves,
    make_meta,
    payload,
    payload_text,
    same_size,
    symbol,
)
from tenferro.ops import StdTensorOp, entry_meta
from tenferro.ops.control_flow import Scan
from tenferro.ops.extension.op import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    OutputMeta,
    ReverseOnlyOp,
    batch_rule_name,
    class_name,
    class_token,
    family_of,
    frozen,
    parse_family_id,
    plain,
    require_class,
    require_own_family,
    runtime_name,
    unaliased,
)
from tenferro.ops.functions.dispatch import outside

__all__ = ["Extension", "LeadingBatchRule", "called_one_by_one", "one_by_one"]


# What the carrier does with batch rules, and without: families that have none are batched too.


def without_rule(op: Any, at: BatchSite[V]) -> Batched[V]:
    """The outputs for all entries of an op whose family has no batch rule.

    Args:
        op: the carrier of the op.
        at: the operands for all entries.

    Raises:
        BatchRuleError: there are no ops that replace it, and no loop can call it.
    """
    by_runtime = at.ctx.registered_rule(runtime_name(op.family_id)) is not None
    results = None if by_runtime else by_expansion(op, at)
    if results is not None:
        return results
    try:
        return one_by_one(op, at)
    except UnsupportedDynamicShapeError as error:
        raise BatchRuleError(
            f"{op.family_id}: has no batch rule, no standard ops and no single-call form; "
            "register an ExtensionBatchRule"
        ) from error


def by_expansion(op: Any, at: BatchSite[V]) -> Batched[V] | None:
    """The ops that replace one application of an op, batched; None if there are no such ops."""
    emitter = cast(KeyEmitter, at.emitter)
    single = KeyEmitter(at.ctx)
    single.site = emitter.site
    entries = [
        fresh_input(entry_meta(at, place), f"entry{place}") for place in range(len(at.inputs))
    ]
    try:
        outputs = op.expanded(single, entries)
    except UnsupportedDynamicShapeError:
        return None
    if outputs is None:
        return None
    operands = list(zip(entries, cast(Sequence[GlobalValKey], at.inputs), at.batched, strict=True))
    view: ResolvedView[Any] = resolve_keys()
    results = batch(
        view,
        outputs,
        {entry: value for entry, value, on in operands if on},
        at.size,
        ctx=at.ctx,
        replaced={entry: value for entry, value, on in operands if not on},
        emitter=emitter,
    )
    return cast(Batched[V], tuple(results))


def one_by_one(op: StdTensorOp, at: BatchSite[V]) -> Batched[V]:
    """A loop that applies an op to one entry after the other; see `called_one_by_one`.

    Raises:
        UnsupportedDynamicShapeError: data decide a size of an operand or of the batch.
    """
    places = range(len(at.inputs))
    order = sorted(
        places, key=lambda place: at.batched[place]
    )  # what all iterations read comes first
    builder = ExecBuilder()
    slots = {place: builder.input(entry_meta(at, place)) for place in order}
    site = cast(KeyEmitter, at.emitter).site
    body = builder.build(builder.add(op, [slots[place] for place in places], site))
    scan = Scan(body, consts=at.batched.count(False), carry=0, length=at.size)
    stacks = at.emitter.emit_all(scan, *[at.inputs[place] for place in order])
    return tuple([(stack, True) for stack in stacks])


def called_one_by_one(op: object) -> str | None:
    """The family whose op a loop calls once for each entry of a batch; None for any other op."""
    if isinstance(op, Scan) and not op.carry and len(op.body.instructions) == 1:
        return cast(StdTensorOp, op.body.instructions[0].op).family
    return None


def mistyped(results: Batched[V], entries: Sequence[TensorMeta], at: BatchSite[V]) -> str | None:
    """A description of what is wrong with the types of batched results, given those of entries.

    The form of the results is not judged here; `batch` does so.
    """
    pairs = isinstance(results, tuple) and all(isinstance(each, tuple) for each in results)
    if not pairs or len(results) != len(entries) or any(len(each) != 2 for each in results):
        return None
    for number, ((value, is_batched), entry) in enumerate(zip(results, entries, strict=True)):
        extents = (Exact(at.size), *entry.extents) if is_batched else entry.extents
        try:
            meta: TensorMeta = at.ctx.meta(value)
        except (AttributeError, TypeError):
            return f"for output {number} {class_of(value)}, which is no value of the site"
        fits = meta.dtype == entry.dtype and meta.rank == len(extents)
        if not fits or any(map(differ, meta.extents, extents)):
            expected = entry.with_extents(extents)
            return f"for output {number} {meta}, which must be {expected}"
    return None


def differ(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether two sizes certainly differ."""
    if not isinstance(a, Exact) or not isinstance(b, Exact):
        return False
    gap = a.dim - b.dim
    return isinstance(gap, int) and gap != 0


# The derivative rules of a family, applied, and what they return checked.


def tangents(op: ExtensionOp, rule: ExtensionAdRule, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the outputs of an op, by its family's linearize rule.

    Raises:
        ExtensionRuleError: the rule does not return one value for each output, of the type of that
            output and linear in the tangents of the operands, or None.
    """
    with _named(op.family_id, "linearize"):
        results = rule.linearize(op, at)
        _check(op.family_id, "linearize", results, at.out, "output", at.emitter)
    return tuple(results)


def cotangents(op: ExtensionOp, rule: ExtensionAdRule, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands of an op, by its family's transpose rule.

    Raises:
        ExtensionRuleError: the rule does not return one value for each operand, of the type of that
            operand and linear in the cotangents, or None; or one for an operand that is fixed.
    """
    with _named(op.family_id, "transpose"):
        results = rule.transpose_rule(op, at)
        _check(op.family_id, "transpose", results, at.inputs, "input", at.emitter)
        for place, (term, active) in enumerate(zip(results, at.active, strict=True)):
            if term is not None and not active:
                raise ExtensionRuleError(
                    op.family_id,
                    f"family_id={op.family_id}: its transpose rule returns a cotangent for input "
                    f"{place}, which is fixed; return None there",
                )
    return tuple(results)


@contextmanager
def _named(family: str, kind: str) -> Iterator[None]:
    """Give an error that a rule raises the family of the rule."""
    try:
        yield
    except (ExtensionRuleError, UnsupportedADRuleError) as error:
        error.add_note(f"in the {kind} rule of {family}")
        raise
    except ADRuleError as error:
        text = f"family_id={family}: its {kind} rule: {error}"
        raise ExtensionRuleError(family, text) from error
    except TenferroError as error:
        error.add_note(f"in the {kind} rule of {family}")
        raise
    except Exception as error:
        text = f"family_id={family}: its {kind} rule failed: {type(error).__name__}: {error}"
        if isinstance(error, TypeError | AttributeError | IndexError):
            text += "; compute with values of the site in inline(at, function, *values)"
        raise ExtensionRuleError(family, text) from error


def _check(
    family: str, kind: str, results: Any, like: Sequence[V], place: str, emitter: Emitter[V]
) -> None:
    """Raise ExtensionRuleError unless results are values of the types of others, or None."""
    count = len(like)
    returns = f"family_id={family}: its {kind} rule returns"
    if not isinstance(results, tuple | list) or len(results) != count:
        got = counted(len(results), "value") if isinstance(results, tuple | list) else "one value"
        raise ExtensionRuleError(
            family, f"{returns} {got}; return a tuple of {count}, one for each {place}"
        )
    for number, (result, similar) in enumerate(zip(results, like, strict=True)):
        problem = None if result is None else _problem(result, similar, emitter)
        if problem is not None:
            raise ExtensionRuleError(family, f"{returns} for {place} {number} {problem}")


def _problem(value: Any, like: Any, emitter: Any) -> str | None:
    """What is wrong with a value that must have the type of another one; None if nothing is."""
    expected: TensorMeta = emitter.ctx.meta(like)
    try:
        meta: TensorMeta = emitter.ctx.meta(value)
    except (AttributeError, TypeError):
        return f"{class_of(value)}, which is not a value of the site"
    fits = meta.dtype == expected.dtype and meta.rank == expected.rank
    if not fits or any(map(differ, meta.extents, expected.extents)):
        return f"{meta}, which must be {expected}"
    if isinstance(emitter, KeyEmitter) and emitter.is_stray(value):
        return (
            "a value that does not depend on those it is given; it must be linear in them: return "
            "None for a zero"
        )
    return None


# The ops by which an extension op is replaced, checked while they are emitted.


def emit_expansion(
    op: ExtensionOp, expected: Sequence[TensorMeta], at: Emitter[V], operands: Sequence[V]
) -> tuple[V, ...] | None:
    """The values by which an op is replaced, for operands of exact sizes; None if there are none.

    Raises:
        InvalidConfigError: it fails, or its results are not of the expected types.
    """
    family = op.family_id
    metas = [at.ctx.meta(value) for value in operands]
    shapes = [meta.exact_shape(family, f"input {i}") for i, meta in enumerate(metas)]
    types = ", ".join(map(str, metas))
    try:
        outputs = op.expanded(at, operands, [meta.dtype for meta in metas], shapes)
    except TenferroError as error:
        error.add_note(f"in lower_to_standard_ops of {family}")
        raise
    except Exception as error:
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops failed on {types}: "
            f"{type(error).__name__}: {error}",
        ) from error
    if outputs is None:
        return None
    if not isinstance(outputs, list | tuple):
        raise _unusable(family, outputs)
    try:
        emitted = [at.ctx.meta(value) for value in outputs]
    except Exception as error:
        raise _unusable(family, outputs) from error
    if emitted != list(expected):
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops gives "
            f"{', '.join(map(str, emitted)) or 'nothing'}, but infer_output_meta says "
            f"{', '.join(map(str, expected))}",
        )
    return tuple(outputs)


def _unusable(family: str, outputs: object) -> InvalidConfigError:
    return InvalidConfigError(
        family,
        f"family_id={family}: lower_to_standard_ops returned {outputs!r}; return a list of "
        "values of the builder, one for each output",
    )


# The carrier: an `ExtensionOp` as an op of graphs and programs.


@payload
class Extension(StdTensorOp, name="extension"):
    """Wraps an extension op as an op of graphs and programs. It is the only such wrapper.

    Its identity is the carrier class, the family id, the payload, and in this process the class of
    the op: one that is defined again does not run the code of the one before. Ops of different
    families are never equal.

    Raises:
        MalformedFamilyIdError: the family has no valid id.
        InvalidConfigError: the payload contains a value without canonical bytes.
    """

    op: ExtensionOp

    category: ClassVar[Category] = Category.BOUNDARY
    assumes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        op = self.op
        if not isinstance(op, ExtensionOp):
            raise InvalidConfigError("", f"apply: takes an ExtensionOp, got {class_of(op)}")
        parse_family_id(op.family_id)
        require_own_family(type(op))
        op = frozen(op)  # the identity below is that of the arrays as they are now
        object.__setattr__(self, "op", op)
        for name in ("input_count", "output_count"):
            count = getattr(op, name)
            if type(count) is not int or count < 0:
                raise self._invalid(f"{name} must be an integer of at least 0, got {count!r}")
        encoded = b"extension" + encode(op.family_id) + op.payload_identity()
        object.__setattr__(self, "classes", class_token(type(op)))
        object.__setattr__(self, "identity", encoded + self.classes)
        object.__setattr__(self, "n_inputs", op.input_count)
        object.__setattr__(self, "n_outputs", op.output_count)
        object.__setattr__(self, "family", op.family_id)
        object.__setattr__(self, "pointwise", op.pointwise)
        object.__setattr__(self, "commutative", op.commutative)
        object.__setattr__(self, "contracts", op.contracts)

    @property
    def family_id(self) -> str:
        """The family."""
        return self.op.family_id

    def family_payload(self) -> tuple[object, ...]:
        """The values that distinguish the op from others of its family, as written to files."""
        values: tuple[object, ...] = plain(tuple(self.op.payload()))
        return values

    @property
    def label(self) -> str:
        return parse_family_id(self.family_id).name

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The types from `infer_output_meta`, with extents no stronger than those of the inputs.

        Each input extent that is not an exact size is replaced by a new symbol. An output extent
        that is this symbol becomes the input's extent; one that is computed from it is unknown.

        Raises:
            InvalidConfigError: the op contradicts its own arity, or fails on valid inputs.
            ShapeError, DTypeError: the op cannot take these inputs.
        """
        self._check_count("input", self.n_inputs, len(metas))
        stand_ins: dict[Leaf, ShapeExtent] = {}
        shapes = [_sizes(i, meta, stand_ins) for i, meta in enumerate(metas)]
        with collecting_guards():  # `guards` hands them to the trace
            outputs = self._inferred(metas, shapes)
        self._check_count("output", self.n_outputs, len(outputs))
        known = {leaf for shape in shapes for size in shape for leaf in leaves(size)}
        return tuple([self._meta(output, stand_ins, known) for output in outputs])

    def assumptions(self, metas: Sequence[TensorMeta], reason: str) -> Sequence[Guard]:
        """What `infer_output_meta` assumes; nothing of sizes that data decide."""
        stand_ins: dict[Leaf, ShapeExtent] = {}
        shapes = [_sizes(i, meta, stand_ins) for i, meta in enumerate(metas)]
        with collecting_guards() as assumed:
            self._inferred(metas, shapes)
        return [
            replace(guard, reason=reason)
            for guard in assumed.values()
            if not stand_ins.keys() & (leaves(guard.left) | leaves(guard.right))
        ]

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """The results of `eager_execute`, checked against the inferred types.

        Raises:
            BackendFailureError: `eager_execute` failed.
            InvalidConfigError: the results are not of the inferred types.
        """
        expected = self.infer_all([make_meta(array.dtype, array.shape) for array in inputs])
        try:
            results = unaliased(self.op.eager_execute(inputs))
        except Exception as error:
            kinds = (BackendFailureError, InvalidConfigError, UnsupportedADRuleError)
            raise_named(self.family_id, error, *kinds)
        return self.checked_results(expected, results)

    def checked_results(self, expected: Sequence[TensorMeta], results: object) -> tuple[Any, ...]:
        """`results` as a tuple.

        Raises:
            InvalidConfigError: their number or types are not the inferred ones.
        """
        outputs = tuple(results) if isinstance(results, tuple | list) else (results,)
        self._check_count("output", self.n_outputs, len(outputs))
        for slot, (meta, result) in enumerate(zip(expected, outputs, strict=True)):
            shape = getattr(result, "shape", None)
            if shape is None or result.dtype != meta.dtype or not _fits(meta, shape):
                raise self._invalid(
                    f"output {slot} is {_described(result)}, but infer_output_meta says {meta}"
                )
        return outputs

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The family's rule in the context's rule set.

        Raises:
            UnsupportedADRuleError: there is none.
            InvalidConfigError: the number of operands is not `input_count`.
            ExtensionRuleError: the rule violates its contract.
        """
        self._check_count("input", self.n_inputs, len(at.primal))
        return tangents(self.op, self._rule(at, "linearize"), at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The family's rule in the context's rule set.

        Raises:
            UnsupportedADRuleError: there is none.
            ExtensionRuleError: the rule violates its contract.
        """
        return cotangents(self.op, self._rule(at, "transpose"), at)

    def linear(self, at: JvpSite[V]) -> bool:
        """Assumed here: a family has a transpose rule for the operands in which it is linear."""
        return True

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """By the family's rule in the context's rule set; see `without_rule` for others.

        Raises:
            BatchRuleError: there is none, nor anything that stands in for it.
            InvalidConfigError: the rule fails, or returns values of other types than those of a
                batch.
        """
        rule = at.ctx.registered_rule(batch_rule_name(self.family_id))
        if rule is None:
            return super().batch_rule(at) if self.pointwise else without_rule(self, at)
        assert isinstance(rule, ExtensionBatchRule)
        require_class(self.op, at.ctx.registered_rule(class_name(self.family_id)), "batch rule")
        try:
            results = rule.batch(self.op, at)
            metas = [entry_meta(at, place) for place in range(len(at.inputs))]
            problem = mistyped(results, self.infer_all(metas), at)
            if problem is not None:
                raise self._invalid(f"its batch rule returns {problem}")
        except TenferroError as error:
            error.add_note(f"in the batch rule of {self.family_id}")
            raise
        except Exception as error:
            problem = f"its batch rule failed: {type(error).__name__}: {error}"
            raise self._invalid(problem) from error
        return results

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The op that `prune_outputs` returns, or None.

        Raises:
            InvalidConfigError: it fails, or its numbers of inputs and outputs are not the expected
                ones.
        """
        try:
            smaller = self.op.prune_outputs(tuple(live))
        except Exception as error:
            raise self._invalid(f"prune_outputs failed: {type(error).__name__}: {error}") from error
        if smaller is None:
            return None
        if not isinstance(smaller, ExtensionOp):
            raise self._invalid(f"prune_outputs returned {smaller!r}; return an op, or None")
        op = Extension(smaller)
        if op.n_inputs != self.n_inputs or op.n_outputs != sum(live):
            raise self._invalid(
                f"prune_outputs gave {counted(op.n_inputs, 'input')} and "
                f"{counted(op.n_outputs, 'output')}, asked for {self.n_inputs} and {sum(live)}"
            )
        return Pruned.keeping_operands(op, smaller.input_count, live)

    def planned(self, metas: Sequence[TensorMeta]) -> Extension:
        """What the op's `planned` returns.

        Raises:
            InvalidConfigError: it takes other inputs, or is of another family.
        """
        shapes = [meta.static_shape or () for meta in metas]
        planned = self.op.planned([meta.dtype for meta in metas], shapes)
        if planned is self.op:
            return self
        op = Extension(planned)
        alike = (self.family_id, self.n_inputs, self.n_outputs)
        if (op.family_id, op.n_inputs, op.n_outputs) != alike:
            raise self._invalid(f"planned gave an op of other inputs, outputs or family: {op}")
        return op

    def masked(self, at: MaskSite) -> None:
        """A pointwise op unchanged; the padding of its result has unknown values."""
        if not self.pointwise:
            super().masked(at)
            return
        at.keep(*[at.operand(i) for i in range(len(at.operand_metas))])

    def expanded(self, at: Emitter[V], operands: Sequence[V]) -> tuple[V, ...] | None:
        if isinstance(self.op, ReverseOnlyOp):
            self.op.refuse()
        expected = self.infer_all([at.ctx.meta(value) for value in operands])
        return emit_expansion(self.op, expected, at, operands)

    def symbols(self) -> set[Leaf]:
        """No symbols: an extension op gets sizes from its inputs."""
        return set()

    def bind(self, sizes: Sizes) -> Extension:
        """The op itself: its payload mentions no symbols."""
        return self

    def __str__(self) -> str:
        values = [f"family_id={self.family_id!r}"]
        names = self.op.payload_fields()
        if type(self.op).payload is ExtensionOp.payload:
            values += [f"{name}={payload_text(getattr(self.op, name))}" for name in names]
        else:
            values.append(f"payload={payload_text(self.family_payload())}")
        return f"{self.name}[{', '.join(values)}]"

    def _rule(self, at: JvpSite[V] | TransposeSite[V], kind: str) -> ExtensionAdRule:
        rule = at.ctx.registered_rule(self.family_id)
        if rule is None:
            rule = self.op.own_rule()
        if rule is None:
            raise UnsupportedADRuleError(
                self.family_id,
                kind,
                f"no {kind} rule is registered; make a context with the package of the family, "
                "AdContext(packages=(...)), and pass it as ad_context=",
            )
        assert isinstance(rule, ExtensionAdRule)
        require_class(self.op, at.ctx.registered_rule(class_name(self.family_id)), "rule")
        return rule

    def _inferred(
        self, metas: Sequence[TensorMeta], shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        try:
            with outside():
                return tuple(self.op.infer_output_meta([meta.dtype for meta in metas], shapes))
        except Exception as error:
            if isinstance(error, TenferroError) and not isinstance(error, TracingError):
                error.add_note(f"in infer_output_meta of {self.family_id}")
                raise  # a refusal of the inputs, and not a size taken for a number
            types = ", ".join(str(meta) for meta in metas)
            raise self._invalid(
                f"infer_output_meta failed on {types}: {type(error).__name__}: {error}"
            ) from error

    def _meta(
        self, output: OutputMeta, stand_ins: dict[Leaf, ShapeExtent], known: set[Leaf]
    ) -> TensorMeta:
        try:
            dtype, shape = output
            if dtype is None:
                raise TypeError("the dtype is None")
            meta = TensorMeta.of(dtype, tuple(shape))
            unknown = meta.symbols() - known - self.symbols()
            if unknown:
                raise ValueError(f"no input has the size {min(map(str, unknown))}")
        except (TypeError, ValueError, DTypeError) as error:
            raise self._invalid(
                f"infer_output_meta returned {output!r}, not a dtype and a shape: {error}"
            ) from error
        if not stand_ins or not meta.symbols() & stand_ins.keys():
            return meta
        return meta.with_extents(_guaranteed(extent, stand_ins) for extent in meta.extents)

    def _check_count(self, kind: str, expected: int | None, got: int) -> None:
        if got != expected:
            raise self._invalid(f"expected {counted(expected, kind)}, got {got}")

    def _invalid(self, problem: str) -> InvalidConfigError:
        return InvalidConfigError(self.family_id, f"family_id={self.family_id}: {problem}")


def raise_named(family_id: str, error: Exception, *kinds: type[Exception]) -> NoReturn:
    """Raise what code of a family has raised, as an error that names the family.

    Errors of these kinds stay what they are if they name it, or say more than the kind.

    Raises:
        BackendFailureError: the error is of another kind, or of an extension without its name.
    """
    if isinstance(error, kinds):
        if type(error) is ExecutorError and family_id not in str(error):
            raise ExecutorError(f"{family_id}: {error}") from error
        if family_id in str(error) or not isinstance(error, ExtensionError):
            raise error
    text = f"{family_id}: {str(error) or type(error).__name__}"
    raise BackendFailureError(family_id, text) from error


def _sizes(position: int, meta: TensorMeta, stand_ins: dict[Leaf, ShapeExtent]) -> tuple[Dim, ...]:
    """The sizes of an input, with a symbol in place of each extent that is not exact."""
    if meta.dims is not None:
        return meta.dims
    sizes: list[Dim] = []
    for axis, extent in enumerate(meta.extents):
        if isinstance(extent, Exact):
            sizes.append(extent.dim)
        else:
            sizes.append(symbol(_stand_in(extent, InputDim(position, axis), stand_ins)))
    return tuple(sizes)


def _stand_in(extent: ShapeExtent, leaf: Leaf, stand_ins: dict[Leaf, ShapeExtent]) -> Leaf:
    """The symbol in place of an extent; extents of certainly equal size share one."""
    for stand_in, replaced in stand_ins.items():
        if same_size(extent, replaced):
            return stand_in
    stand_ins[leaf] = extent
    return leaf


def _guaranteed(extent: ShapeExtent, stand_ins: dict[Leaf, ShapeExtent]) -> ShapeExtent:
    assert isinstance(extent, Exact)
    mentioned = leaves(extent.dim) & stand_ins.keys()
    if not mentioned:
        return extent
    (first, *_) = mentioned
    if extent.dim == symbol(first):
        return stand_ins[first]
    extents = {leaf: stand_ins[leaf] for leaf in mentioned}
    bounds = {leaf: each.dim for leaf, each in extents.items() if isinstance(each, UpperBound)}
    if len(bounds) < len(mentioned) or not grows(extent.dim):
        return Unknown()
    return UpperBound(bind(extent.dim, bounds))


def _fits(meta: TensorMeta, shape: tuple[int, ...]) -> bool:
    """Whether a value of this shape fits the inferred type, as far as sizes are known."""
    return meta.rank == len(shape) and all(
        size == extent.dim or isinstance(extent.dim, DimExpr)
        for extent, size in zip(meta.extents, shape, strict=True)
        if isinstance(extent, Exact)
    )


def _described(result: object) -> str:
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    return class_of(result) if shape is None else f"{dtype}{list(shape)}"


# The batch rule of ops whose leading axes are a batch anyway.


class LeadingBatchRule(ExtensionBatchRule):
    """The batch rule of a family for which one more leading axis of all inputs is a batch.

    The op itself is applied; inputs that are not batched are repeated.

    Args:
        family: the op class, or the family id.
    """

    def __init__(self, family: str | type[ExtensionOp]) -> None:
        self._family_id = family_of("LeadingBatchRule", family)

    @property
    def family_id(self) -> str:
        """The family."""
        return self._family_id

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The op itself."""
        inputs = [at.repeated(place) for place in range(len(at.inputs))]
        return tuple([(value, True) for value in at.emitter.emit_all(Extension(op), *inputs)])
