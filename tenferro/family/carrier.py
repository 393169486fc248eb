"""The carrier: an `ExtensionOp` as an op of graphs and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn

from tenferro.chainrules import Batched, BatchSite, Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.errors import (
    BackendFailureError,
    DTypeError,
    ExecutorError,
    ExtensionError,
    InvalidConfigError,
    TenferroError,
    TracingError,
    UnsupportedADRuleError,
)
from tenferro.exec_ir import (
    Array,
    Category,
    MaskSite,
    Pruned,
    Sizes,
    encode,
    payload,
    payload_text,
)
from tenferro.family.batching import mistyped, without_rule
from tenferro.family.derivative import cotangents, tangents
from tenferro.family.expansion import emit_expansion
from tenferro.family.family_id import (
    class_token,
    parse_family_id,
    require_class,
    require_own_family,
)
from tenferro.family.frozen import frozen, plain, unaliased
from tenferro.family.op import ExtensionOp, OutputMeta, ReverseOnlyOp
from tenferro.family.rules import ExtensionAdRule, ExtensionBatchRule, batch_rule_name, class_name
from tenferro.ops import StdTensorOp, entry_meta
from tenferro.shape import (
    Dim,
    DimExpr,
    Exact,
    Guard,
    InputDim,
    Leaf,
    ShapeExtent,
    TensorMeta,
    Unknown,
    UpperBound,
    bind,
    collecting_guards,
    grows,
    leaves,
    make_meta,
    same_size,
    symbol,
)


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
            raise InvalidConfigError("", f"apply: takes an ExtensionOp, got a {type(op).__name__}")
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
        """The op's name within its namespace."""
        return parse_family_id(self.family_id).name

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The types from `infer_output_meta`, with extents no stronger than those of the inputs.

        Each input extent that is not an exact size is replaced by a new symbol. An output extent
        that is this symbol becomes the input's extent; one that is computed from it is unknown.

        Raises:
            InvalidConfigError: the op contradicts its own arity, or fails on valid inputs.
            ShapeError, DTypeError: the op cannot take these inputs.
        """
        self._check_count("inputs", self.n_inputs, len(metas))
        stand_ins: dict[Leaf, ShapeExtent] = {}
        shapes = [_sizes(i, meta, stand_ins) for i, meta in enumerate(metas)]
        with collecting_guards():  # `guards` hands them to the trace
            outputs = self._inferred(metas, shapes)
        self._check_count("outputs", self.n_outputs, len(outputs))
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

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
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
        self._check_count("outputs", self.n_outputs, len(outputs))
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
        self._check_count("inputs", self.n_inputs, len(at.primal))
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
                f"prune_outputs gave {op.n_inputs} inputs and {op.n_outputs} outputs, asked for "
                f"{self.n_inputs} and {sum(live)}"
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
        """The values by which the op is replaced; see `emit_expansion`."""
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
            raise self._invalid(f"expected {expected} {kind}, got {got}")

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
    return f"a {type(result).__name__}" if shape is None else f"{dtype}{list(shape)}"
