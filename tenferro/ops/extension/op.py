"""What an extension op defines: `ExtensionOp`, its family id, payload and rules.

Arrays in payloads become read-only. Arrays that functions of the op return are copied, unless
nobody else has them.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from operator import is_not
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, final
from weakref import WeakKeyDictionary

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    PrimitiveOp,
    RuleContext,
    Slots,
    TransposeSite,
    V,
)
from tenferro.errors import (
    DuplicateRuleError,
    ExtensionRegistryError,
    InvalidConfigError,
    MalformedFamilyIdError,
    TenferroError,
    UnsupportedADRuleError,
    class_of,
)
from tenferro.ir import Dim, DimExpr, DType, NumpyArray, assume_equal, canonical, encode

__all__ = [
    "ExtensionAdRule",
    "ExtensionBatchRule",
    "ExtensionOp",
    "ExtensionRuleSet",
    "FamilyId",
    "OutputMeta",
    "ReverseOnlyOp",
    "attributes_of",
    "batch_rule_name",
    "family_id",
    "family_of",
    "parse_family_id",
    "require_class",
    "runtime_name",
    "sizes_differ",
    "unaliased",
]


# Arrays that the authors of extensions hand over, which nobody may change any more.

T = TypeVar("T")


def frozen(op: T) -> T:
    """The op, or a copy of it that nobody can change.

    Arrays that others could change are read-only copies; an op whose class is not a frozen
    dataclass is a copy, so that an assignment to it later changes nothing.
    """
    changed: dict[str, Any] = {}
    for name in _fields(op):
        value = getattr(op, name, None)
        safe = _safe(value)
        if safe is not value:
            changed[name] = safe
    settings = getattr(type(op), "__dataclass_params__", None)
    if not changed and settings is not None and settings.frozen:
        return op
    duplicate = copy.copy(op)
    for name, value in changed.items():
        object.__setattr__(duplicate, name, value)
    return duplicate


def _fields(op: object) -> list[str]:
    if dataclasses.is_dataclass(op):
        return [field.name for field in dataclasses.fields(op)]
    return list(getattr(op, "__dict__", ()))


def plain(value: Any) -> Any:
    """A value of a payload, with NumPy's integers and bools, also in tuples, as Python's."""
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if type(value) is tuple:
        items = tuple([plain(item) for item in value])
        return items if any(map(is_not, items, value)) else value
    return value


def _safe(value: Any) -> Any:
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        if not value.size or isinstance(value.base, bytes):
            return value
        # Views that were made before an array became read-only still write to it, not to bytes.
        return np.ndarray(value.shape, value.dtype, value.tobytes())
    if type(value) is tuple:
        items = tuple([_safe(item) for item in value])
        return items if any(map(is_not, items, value)) else value
    return copy.copy(value) if isinstance(value, list | dict | set | bytearray) else value


def unaliased(results: object) -> list[Any]:
    """The results as a new list, in which arrays that somebody else may change are copies.

    Nobody else has an array that owns its memory and that only the list refers to. The caller must
    hold no reference to `results`.
    """
    values = [*results] if isinstance(results, tuple | list) else [results]
    del results
    for place, count in enumerate(_references(values)):
        value = values[place]
        if isinstance(value, np.ndarray) and (count > _ALONE or not value.flags.owndata):
            values[place] = value.copy()
    return values


def _references(values: list[Any]) -> list[int]:
    """How many references there are to each value."""
    return [sys.getrefcount(values[place]) for place in range(len(values))]


_ALONE = _references([np.empty(0)])[0]


# The builder that `lower_to_standard_ops` emits into.


class StandardOps(Generic[V]):
    """The builder into which an extension emits its standard ops. It rejects extension ops."""

    def __init__(self, at: Emitter[V], family_id: str) -> None:
        self._at = at
        self._family_id = family_id

    @property
    def ctx(self) -> RuleContext:
        """The types of values."""
        return self._at.ctx

    def emit(self, op: PrimitiveOp, *operands: V) -> V:
        """The output of a single-output op."""
        self._check(op)
        return self._at.emit(op, *operands)

    def emit_all(self, op: PrimitiveOp, *operands: V) -> tuple[V, ...]:
        """All outputs of `op`."""
        self._check(op)
        return tuple(self._at.emit_all(op, *operands))

    def producer(self, value: V) -> tuple[Any, tuple[V, ...]] | None:
        """The op and operands of a single-output op."""
        return self._at.producer(value)

    def order(self, value: V) -> int:
        """The number of the value."""
        return self._at.order(value)

    def _check(self, op: PrimitiveOp) -> None:
        family: str | None = getattr(op, "family", None)
        if family is not None:
            raise InvalidConfigError(
                self._family_id,
                f"family_id={self._family_id}: lower_to_standard_ops emitted an op of {family}; "
                "it may emit standard ops only",
            )


# ExtensionOp: the base class of ops outside tenferro's vocabulary.

OutputMeta = tuple[DType, Sequence[Dim]]
"""Dtype and shape of one output."""


class ExtensionOp(ABC):
    """An op of a third-party package, with its payload.

    Subclasses are frozen dataclasses, named with `@family_id(...)`. Tensor arguments are inputs of
    the op. Everything else that changes a result (axes, modes, tolerances) is a field, and
    therefore part of the payload. Caches, handles and plans belong in the `ExtensionCache` that is
    passed to the runtime. If a field does hold such an object, and does not change a result,
    declare it `field(compare=False)`, with a default.

    `input_count` and `output_count` are fixed for an op. If they vary within a family, they must be
    fields of the payload or follow from these.
    """

    FAMILY_ID: ClassVar[str]

    pointwise: ClassVar[bool] = False
    """Whether each element of the result depends only on the elements at the same position, and all
    inputs have the result's shape. Passes then treat the op as they treat an addition."""

    commutative: ClassVar[bool] = False
    """Whether its two inputs may be exchanged."""

    contracts: ClassVar[bool] = False
    """Whether it multiplies its inputs and sums over axes; see `checkpoint_policies`."""

    lowers_named_sizes: ClassVar[bool] = False
    """Whether `lower_to_standard_ops` also takes sizes without a number yet, so that the op can be
    exported for named sizes, and batched by standard ops before sizes are known."""

    undefined: ClassVar[str | None] = None
    """For a derivative: what NaN means in its results where its inputs have none. Eager runtimes
    made with `check_gauge=True` raise it as the text of a `GaugeError`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("payload_identity", "payload_hash", "payload_eq"):
            if name in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}: {name} is derived from payload(), so that hash and equality "
                    "cannot disagree; define payload() instead"
                )

    @property
    def family_id(self) -> str:
        """The family, which fixes the schema and the meaning of the payload."""
        return getattr(type(self), "FAMILY_ID", "")

    def payload(self) -> tuple[object, ...]:
        """The values that distinguish this op from others of its family.

        By default they are the dataclass fields. They may be numbers (NumPy's integers and bools
        become Python's), strings, bytes, dtypes,
        arrays, None, and tuples of these, but not symbolic sizes: an op gets these from its inputs.
        """
        names = self.payload_fields()
        if not names and attributes_of(self):
            raise InvalidConfigError(
                self.family_id,
                f"family_id={self.family_id}: {type(self).__name__} has attributes but no payload; "
                "make it a frozen dataclass, or define payload()",
            )
        return tuple([getattr(self, name) for name in names])

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the dataclass fields, except those that are not compared."""
        return tuple([f.name for f in fields(cls) if f.compare]) if is_dataclass(cls) else ()

    @final
    def payload_identity(self) -> bytes:
        """The payload as canonical bytes; the same in every process and version.

        Raises:
            InvalidConfigError: `payload` fails or does not return a tuple, or the payload has a
                value without canonical bytes, or a symbolic size.
        """
        try:
            payload: object = self.payload()
        except TenferroError:
            raise
        except Exception as error:
            raise self._invalid(f"payload() failed: {type(error).__name__}: {error}") from error
        if not isinstance(payload, tuple | list):
            raise self._invalid(f"payload() returned {class_of(payload)}; return a tuple")
        try:
            values = plain(tuple(payload))
            if _has_symbol(values):
                raise TypeError("payload: a symbolic size cannot be part of it; pass an input")
            return encode(values)
        except (TypeError, RecursionError) as error:
            raise self._invalid(str(error)) from None

    def _invalid(self, problem: str) -> InvalidConfigError:
        return InvalidConfigError(self.family_id, f"family_id={self.family_id}: {problem}")

    @final
    def payload_hash(self) -> int:
        """A hash of the payload; the same in every process and version."""
        return int.from_bytes(hashlib.sha256(self.payload_identity()).digest()[:8], "big")

    @final
    def payload_eq(self, other: ExtensionOp) -> bool:
        """Whether `other` is of the same family and has an equal payload."""
        return (
            self.family_id == other.family_id
            and self.payload_identity() == other.payload_identity()
        )

    def clone(self) -> Self:
        """A copy that shares no state with this op."""
        return copy.deepcopy(self)

    @property
    @abstractmethod
    def input_count(self) -> int:
        """How many tensors the op takes."""

    @property
    @abstractmethod
    def output_count(self) -> int:
        """How many tensors the op returns."""

    @abstractmethod
    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """Dtype and shape of each output, from those of the inputs.

        Sizes are integers or symbolic expressions; both support `+ - * //` and `==`. The method
        must accept sizes that cannot be compared yet.

        Raises:
            ShapeError, DTypeError: the op cannot take these inputs.
        """

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The outputs as standard ops emitted into `builder`, or None if there is no such form.

        This is a rewrite, not an execution: the elements are not available. All sizes are numbers,
        unless the class `lowers_named_sizes`. With `tenferro.extension` it can be written
        with ordinary array functions.
        """
        return None

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The outputs as standard ops and ops of other families, or None if there is no such form.

        By default these are the standard ops alone. They are asked for once all sizes are numbers,
        unless the class `lowers_named_sizes`: there is no form before. Executors that do not run
        the family expand its ops, and then those of the other families.
        """
        numbers = all(isinstance(size, int) for shape in input_shapes for size in shape)
        if not numbers and not self.lowers_named_sizes:
            return None
        return self.lower_to_standard_ops(
            StandardOps(builder, self.family_id), inputs, input_dtypes, input_shapes
        )

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> ExtensionOp:
        """The op that computes the same, with what it chooses by sizes chosen for these.

        It lets an op that is lowered for constant sizes only be lowered for named ones: where sizes
        are rounded up, the plan for the rounded ones serves all smaller ones.
        """
        return self

    @abstractmethod
    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """The outputs on NumPy arrays. This is the reference implementation."""

    @classmethod
    def own_rule(cls) -> ExtensionAdRule | None:
        """The derivative rules that the class brings itself; those of a context come first."""
        return None

    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        """An op of the same inputs that returns only the live outputs, in order.

        None if computing fewer outputs is not cheaper.
        """
        return None


def attributes_of(op: object) -> list[str]:
    """The attributes that an instance has, in its `__dict__` and in the `__slots__` of classes."""
    slots: list[str] = []
    for cls in type(op).__mro__:
        value = vars(cls).get("__slots__", ())
        slots += [value] if isinstance(value, str) else value
    copied = [name for name in slots if name not in ("__dict__", "__weakref__")]
    return [*getattr(op, "__dict__", {}), *(name for name in copied if hasattr(op, name))]


class ReverseOnlyOp(ExtensionOp):
    """An op that stands for tangents until they are transposed: it has a transpose rule, no result.

    The linearize rule of a family emits one if only its vjp is known. Forward mode is then refused.
    """

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """Refused."""
        self.refuse()

    @final
    def refuse(self) -> NoReturn:
        """Raise the error for forward mode."""
        raise UnsupportedADRuleError(
            self.family_id,
            "linearize",
            "stands for tangents that only reverse mode takes: use grad, vjp or jacrev, not jvp, "
            "jacfwd or linearize",
        )


def _has_symbol(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_symbol, value))
    return isinstance(value, DimExpr)


# The name of a family of extension ops: `<distribution>.<op>.v<major>`.

C = TypeVar("C", bound=type[Any])

_FORMAT = re.compile(
    r"(?P<namespace>[A-Za-z0-9][A-Za-z0-9_-]*)\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"\.v(?P<version>0|[1-9][0-9]{0,8})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class FamilyId:
    """The parts of a family id.

    Attributes:
        namespace: canonical name of the distribution that publishes the family.
        name: identifier of the op within it.
        version: raised by every breaking change of payload, shapes, derivatives or meaning.
    """

    namespace: str
    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}.v{self.version}"


def parse_family_id(text: object) -> FamilyId:
    """The parts of a family id.

    Raises:
        MalformedFamilyIdError: the text is not of the form `<distribution>.<op>.v<major>`.

    >>> parse_family_id("tenferro-ext-tropical.einsum.v1")
    FamilyId(namespace='tenferro-ext-tropical', name='einsum', version=1)
    """
    match = _FORMAT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise MalformedFamilyIdError(
            str(text),
            f"family_id {text!r} does not match the namespaced format "
            "'<distribution>.<op>.v<major>'",
        )
    return FamilyId(match["namespace"], match["name"], int(match["version"]))


def family_of(name: str, family: object) -> str:
    """The id of a family that is given as op class or as id.

    Raises:
        ExtensionRegistryError: it is neither.
    """
    if isinstance(family, str):
        return family
    family_id = getattr(family, "FAMILY_ID", None) if isinstance(family, type) else None
    if not isinstance(family_id, str):
        raise ExtensionRegistryError(
            name, f"takes an op class or a family id, got {family!r}", name
        )
    return family_id


def require_own_family(op_class: type[Any]) -> None:
    """Check that a class does not inherit the family of another op class.

    Raises:
        ExtensionRegistryError: it does.
    """
    if "FAMILY_ID" in vars(op_class) or "family_id" in vars(op_class):
        return
    owner = next((base for base in op_class.__mro__ if "FAMILY_ID" in vars(base)), None)
    if owner is not None:
        family = vars(owner)["FAMILY_ID"]
        raise ExtensionRegistryError(
            family,
            f"{op_class.__name__}: is derived from {owner.__name__}, of the family {family!r}, "
            "and two op classes are not of one family; give it its own with @family_id(...)",
        )


_tokens: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()
_numbers = itertools.count()


def class_token(op_class: type[Any]) -> bytes:
    """Bytes that no other class has in this process, also none that was defined before."""
    token = _tokens.get(op_class)
    return _tokens.setdefault(op_class, b"@%d" % next(_numbers)) if token is None else token


def require_class(op: object, known: object, what: str) -> None:
    """Check that an op is of the class that what a context has of its family belongs to.

    Args:
        op: the op, which has the family id of that class.
        known: the class; anything else stands for none.
        what: what the context has: `runtime`.

    Raises:
        ExtensionRegistryError: it is not; the class has been defined again.
    """
    if isinstance(known, type) and not isinstance(op, known):
        family = getattr(op, "FAMILY_ID", "")
        raise ExtensionRegistryError(
            family,
            f"packages: family {family!r}: the op is of one class {type(op).__qualname__}, and the "
            f"{what} of another one, since the class was defined again; make the package again, "
            "and with it the context, the executor or the compiled function",
        )


def family_id(*, namespace: str, name: str, version: int) -> Callable[[C], C]:
    """A class decorator that gives an extension op its `FAMILY_ID`.

    Args:
        namespace: canonical name of the distribution that publishes the family.
        name: identifier of the op within it.
        version: the family's version.

    Raises:
        MalformedFamilyIdError: the parts do not form a valid family id.

    >>> @family_id(namespace="my-package", name="fft", version=1)
    ... class FftOp: ...
    >>> FftOp.FAMILY_ID
    'my-package.fft.v1'
    """
    text = f"{namespace}.{name}.v{version}"
    if parse_family_id(text) != FamilyId(namespace, name, version):
        raise MalformedFamilyIdError(
            text, f"family_id {text!r}: version must be an integer, got {version!r}"
        )

    def decorate(cls: C) -> C:
        value: object = cls
        if not isinstance(value, type):
            raise MalformedFamilyIdError(text, f"family_id: takes an op class, got {value!r}")
        cls.FAMILY_ID = text
        return cls

    return decorate


def sizes_differ(a: Dim, b: Dim, reason: str = "sizes") -> bool:
    """Whether two sizes certainly differ, for checks of inputs in `infer_output_meta`.

    Sizes that are not known yet may turn out equal. The program that records the op assumes that
    they are, and refuses a run in which they differ, also where nothing reads the result. Ask only
    of sizes that must be equal. `reason` says what needs it.

    >>> from tenferro.shape import dim
    >>> n = dim("n")
    >>> sizes_differ(2, 3), sizes_differ(n, n + 1), sizes_differ(n, 3), sizes_differ(n, dim("m"))
    (True, True, False, False)
    """
    if canonical(a, b) is None:
        return True
    assume_equal(a, b, reason)
    return False


# Derivative rules and batch rules of extension ops, and sets of them.


class _OfFamily:
    """What belongs to one family, named by its id or by its op class.

    A subclass defines `family_id`, or `family`, the op class.
    """

    family: type[ExtensionOp]

    @property
    def family_id(self) -> str:
        """The family."""
        return self.family.FAMILY_ID


class ExtensionAdRule(_OfFamily):
    """The derivative rules of one family: of the op class `family`, or of the id `family_id`.

    They may emit standard ops and extension ops. To differentiate again, the same set needs rules
    for the emitted families. None is a symbolic zero, as argument and as result: rules do not make
    arrays of zeros.
    """

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs, linear in `at.tangent`; one entry for each output.

        Families that are not differentiated further do not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id, "linearize", "has no linearize rule; it cannot be differentiated further"
        )

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active inputs from `at.ct`; one for each input, None if it is fixed.

        Families that are not linear in any input do not define it.
        """
        raise UnsupportedADRuleError(
            op.family_id,
            "transpose",
            "has no transpose rule; it is not linear in any of its inputs",
        )


class ExtensionBatchRule(_OfFamily, ABC):
    """The batch rule of one family: of the op class `family`, or of the id `family_id`.

    It says what an application of the op to each entry of batches is, as ops on whole batches.
    """

    @abstractmethod
    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The outputs for all entries, and for each whether it is batched.

        The batch is axis 0 of each input in `at.inputs` that `at.batched` marks, and of each output
        that is batched. Other inputs are the same for all entries; `at.repeated(i)` is input i as a
        batch in any case. There are `at.size` entries.
        """


_BATCH = " batch"  # no family id ends with it
_CLASS = " class"


def batch_rule_name(family_id: str) -> str:
    """The name under which contexts look up the batch rule of a family."""
    return family_id + _BATCH


def class_name(family_id: str) -> str:
    """The name under which contexts look up the class of the ops of a family."""
    return family_id + _CLASS


def runtime_name(family_id: str) -> str:
    """The name under which contexts tell whether what they batch is run by the family's runtime."""
    return family_id + " runtime"


class ExtensionRuleSet:
    """Derivative rules and batch rules by family, for an `AdContext` and `vmap`.

    Rules are looked up only in such a set; there are no global or thread-local rules. Iteration,
    `len` and `in` are about derivative rules; `batch_rules` has the others.

    Attributes:
        named: all by name: derivative rules by their family, batch rules by `batch_rule_name`, and
            the class of the ops that they take by the `class_name` of the family.

    >>> rules = ExtensionRuleSet()
    >>> rules.lookup("my-package.fft.v1") is None
    True
    """

    def __init__(self) -> None:
        self.named: dict[str, Any] = {}

    def register_rule(
        self, rule: ExtensionAdRule, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Add the derivative rules of one family.

        Args:
            rule: the rules.
            op_class: the class of the ops that they take; by default the `family` of the rules.

        Raises:
            DuplicateRuleError: the set has rules for the family already.
            MalformedFamilyIdError: the rule's family id is malformed.
        """
        _require("register_rule", rule, ExtensionAdRule)
        self._register("AD rule", rule.family_id, rule, op_class)

    def register_batch_rule(
        self, rule: ExtensionBatchRule, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Add the batch rule of one family; `op_class` as for `register_rule`.

        Raises:
            DuplicateRuleError: the set has one for the family already.
            MalformedFamilyIdError: the rule's family id is malformed.
        """
        _require("register_batch_rule", rule, ExtensionBatchRule)
        self._register("batch rule", batch_rule_name(rule.family_id), rule, op_class)

    def _register(
        self, kind: str, name: str, rule: _OfFamily, op_class: type[ExtensionOp] | None
    ) -> None:
        family = rule.family_id
        parse_family_id(family)
        if name in self.named:
            raise DuplicateRuleError(family, f"{kind} for family_id {family!r} already registered")
        self.named[name] = rule
        known = getattr(rule, "family", None) if op_class is None else op_class
        if isinstance(known, type):
            self.named[class_name(family)] = known

    def lookup(self, name: str) -> ExtensionAdRule | ExtensionBatchRule | type[ExtensionOp] | None:
        """The rules registered under a name, or None; see `named`."""
        return self.named.get(name)

    @property
    def batch_rules(self) -> tuple[ExtensionBatchRule, ...]:
        """The batch rules."""
        return tuple([rule for name, rule in self.named.items() if name.endswith(_BATCH)])

    def copy(self) -> ExtensionRuleSet:
        """A set with the same rules. Adding to one does not change the other."""
        duplicate = ExtensionRuleSet()
        duplicate.named = dict(self.named)
        return duplicate

    def over(self, others: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets; if both have rules of a family, with those of this one."""
        both = others.copy()
        both.named |= self.named
        return both

    def __or__(self, other: ExtensionRuleSet) -> ExtensionRuleSet:
        """The union of both sets.

        Raises:
            DuplicateRuleError: both have rules of one family.
        """
        both = self.copy()
        for rule in other:
            both.register_rule(rule, other.named.get(class_name(rule.family_id)))
        for batch_rule in other.batch_rules:
            both.register_batch_rule(batch_rule, other.named.get(class_name(batch_rule.family_id)))
        return both

    def __iter__(self) -> Iterator[ExtensionAdRule]:
        return iter([r for name, r in self.named.items() if not name.endswith((_BATCH, _CLASS))])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, family_id: object) -> bool:
        return family_id in self.named and not str(family_id).endswith((_BATCH, _CLASS))

    def __repr__(self) -> str:
        return f"ExtensionRuleSet({', '.join([rule.family_id for rule in self])})"


def _require(name: str, rule: object, kind: type[_OfFamily]) -> None:
    """Raise ExtensionRegistryError for what is not a rule."""
    if not isinstance(rule, kind) or not hasattr(rule, "family_id"):
        shown = f"the class {rule.__name__}" if isinstance(rule, type) else repr(rule)
        family = str(getattr(rule, "family_id", "rules"))
        raise ExtensionRegistryError(
            family, f"takes an {kind.__name__} with family or family_id, got {shown}", name
        )
