"""All errors of the library.

They derive from `TenferroError`. An error that matches a built-in one (a wrong type, a wrong value,
a missing key or name) derives from the built-in as well, so that ordinary `except` clauses work.

The form of a text is `op: what is wrong, with the operands as types; what to do`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

__all__ = [
    "BackendFailureError",
    "BatchRuleError",
    "DTypeError",
    "DuplicateRuleError",
    "ExtensionError",
    "ExtensionRegistryError",
    "ExtensionRuleError",
    "ExtensionRuntimeRegistryError",
    "InvalidConfigError",
    "MalformedFamilyIdError",
    "ShapeError",
    "TenferroError",
    "UnregisteredExtensionError",
    "UnsupportedADRuleError",
    "UnsupportedExtensionError",
]


class TenferroError(Exception):
    """Base class of all errors that tenferro raises on purpose."""


def counted(count: object, one: str, many: str = "") -> str:
    """A number of things in words.

    >>> counted(1, "axis", "axes"), counted(2, "axis", "axes"), counted(0, "input")
    ('1 axis', '2 axes', '0 inputs')
    """
    is_one = str(count) == "1"
    return f"{count} {one if is_one else many or f'{one}s'}"


def class_of(value: object) -> str:
    """The class of a value in words.

    >>> class_of(1), class_of([])
    ('an int', 'a list')
    """
    return with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """A noun with its indefinite article.

    >>> with_article("array"), with_article("tensor"), with_article("uint8")
    ('an array', 'a tensor', 'a uint8')
    """
    is_vowel = noun[:1].lower() in set("aeiou") and not noun.startswith("uint")
    return f"{'an' if is_vowel else 'a'} {noun}"


# --- names ----------------------------------------------------------------------------------------


class MissingNameError(TenferroError, AttributeError):
    """A module does not have a name; the text says what was meant, or that it is not there yet."""

    def __init__(self, module: str, name: str, hint: Callable[[], str]) -> None:
        """`hint` is called when the text is shown."""
        super().__init__(module, name)
        self._text, self._hint = f"module {module!r} has no attribute {name!r}", hint

    def __reduce__(self) -> tuple[Any, ...]:
        """The hint is pickled as its text."""
        return MissingNameError, (*self.args, partial(str, self._hint()))

    def __str__(self) -> str:
        hint = self._hint()
        return f"{self._text}; {hint}" if hint else self._text


# --- graphs ---------------------------------------------------------------------------------------


class GraphError(TenferroError):
    """A graph is malformed: a wrong arity, a foreign local id, or a value outside the fragment."""


class UnresolvedValueError(GraphError, LookupError):
    """An external reference is not defined in any fragment of the view."""


class ProgramError(TenferroError):
    """A compiled program is malformed or is called wrongly."""


class BindingError(ProgramError, ValueError):
    """An input of a program is unbound, unexpected, bound twice, or bound to a wrong type."""


class VerifyError(ProgramError):
    """An execution program violates an invariant of the IR."""


class ParseError(ProgramError, ValueError):
    """A text is not an execution program."""


class FileError(ProgramError, ValueError):
    """The bytes are not a file of tenferro, or a value cannot be stored in such a file."""


# --- metadata -------------------------------------------------------------------------------------


class ShapeError(TenferroError, ValueError):
    """An op does not accept the ranks or extents of its operands."""


class ControlFlowError(TenferroError, TypeError):
    """The structure, the argument types or the result types of a loop or branch body do not fit."""


class CheckpointError(TenferroError, ValueError):
    """A function cannot be checkpointed as is asked for; or there is no such policy."""


class AxisError(ShapeError, IndexError):
    """An axis is out of range or named twice."""


class NoAxesError(ShapeError, TypeError):
    """A value without axes has no length, and nothing to iterate over."""


class DTypeError(TenferroError, TypeError):
    """An op does not accept the dtypes of its operands."""


class ExtentError(ShapeError, OverflowError):
    """An extent is negative, overflows, or makes a tensor larger than the byte budget."""


class UnsupportedDynamicShapeError(ShapeError):
    """An op needs an exact extent, but it is symbolic, an upper bound or unknown.

    Attributes:
        primitive: the op that needs the extent.
        field: the metadata field that must be exact.
        observed: the extent of that field, in words.
        text: the message, if it is not made of the other fields.
    """

    def __init__(self, primitive: str, field: str, observed: str, text: str | None = None) -> None:
        message = text
        if message is None:
            message = (
                f"UnsupportedDynamicShape: {primitive}: {field} must be exact, but is {observed}"
            )
            if observed.startswith("at most"):
                message += (
                    "; data decide it, so it is a number only where nothing is traced: call the "
                    "function without jit, and for derivatives with a tn.EagerRuntime; or keep the "
                    "size, by size= or pad=True of the function that selects, or with tn.where"
                )
        super().__init__(message)
        self.primitive = primitive
        self.field = field
        self.observed = observed
        self.text = text

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str | None]]:
        """Pickle the fields, from which the message is made."""
        return type(self), (self.primitive, self.field, self.observed, self.text)


class RuntimeSizeError(ShapeError):
    """A scalar that determines a size at run time is NaN or infinite."""


class GuardViolationError(ShapeError):
    """A guard that was recorded while tracing does not hold for the shapes of a run."""


# --- derivatives ----------------------------------------------------------------------------------


class ADError(TenferroError):
    """A derivative cannot be computed."""


class GaugeError(ADError):
    """A loss depends on a choice of eigenvectors or singular vectors that is not the matrix's own.

    Only eager runtimes made with `check_gauge=True` raise it; otherwise the derivative is NaN.
    """


class ADRuleError(ADError):
    """An op on the active path has no derivative rule, or a rule violates its contract."""


class ForwardModeError(ADRuleError, TypeError):
    """A function with a rule for cotangents alone, `custom_vjp`, is differentiated forward."""


class NonScalarGradError(ADError, TypeError):
    """`grad` of a result that is not a scalar, or is complex without `holomorphic=True`."""


# --- batches --------------------------------------------------------------------------------------


class KeyReuseError(TenferroError, ValueError):
    """Two draws were made from one random key, which makes them dependent."""


class BatchingError(TenferroError, ValueError):
    """A function cannot be applied to the entries of a batch as it is called."""


class BatchRuleError(BatchingError):
    """An op on the way has no batch rule, or a rule violates its contract."""


class UnboundAxisError(BatchingError, NameError):
    """A function uses a named axis that nothing around it binds."""

    @classmethod
    def of(
        cls, caller: str, names: Sequence[object], bound: Sequence[str] = ()
    ) -> UnboundAxisError:
        """The error of `caller`, which reads axes; `bound` are those that are bound there."""
        axis = " and ".join(map(repr, names))
        there = f"; bound here: {', '.join(map(repr, bound))}" if bound else ""
        return cls(
            f"{caller}: unbound axis name: {axis}{there}; call it in a function that "
            f"tn.vmap(..., axis_name={names[0]!r}) or tn.shard_map maps"
        )


# --- extensions -----------------------------------------------------------------------------------


class ExtensionError(TenferroError):
    """A family of extension ops violates its contract, or is unknown where it is needed.

    Attributes:
        op: the operation that failed; `"extension"` if no closer name is known.
        family_id: the family.
        message: what is wrong; the family is put in front if the message does not name it.
    """

    def __init__(self, family_id: str, message: str, op: str = "extension") -> None:
        if family_id not in message and repr(family_id) not in message:
            message = f"{family_id}: {message}"
        super().__init__(f"{op}: {message}")
        self.op = op
        self.family_id = family_id
        self.message = message

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle the three fields, from which the text is made."""
        return type(self), (self.family_id, self.message, self.op)


class InvalidConfigError(ExtensionError, ValueError):
    """The arity, the results or the payload of an extension op are inconsistent."""


class ExtensionRuleError(InvalidConfigError, ADRuleError):
    """A derivative rule of a family violates its contract."""


class UnsupportedExtensionError(ExtensionError, NotImplementedError):
    """A program, file or lowering does not support a family."""


class BackendFailureError(ExtensionError, RuntimeError):
    """The runtime of a family failed; `__cause__` is its exception."""


class UnregisteredExtensionError(BackendFailureError):
    """A program needs the runtime of a family, which the executor does not have."""


class ExtensionRegistryError(ExtensionError, ValueError):
    """A derivative rule or payload codec cannot be registered."""


class DuplicateRuleError(ExtensionRegistryError):
    """A rule set already has a derivative rule for the family."""


class ExtensionRuntimeRegistryError(ExtensionError, ValueError):
    """The runtime of a family cannot be registered."""


class MalformedFamilyIdError(ExtensionRegistryError, ExtensionRuntimeRegistryError):
    """A family id does not have the form `<distribution>.<op>.v<major>`."""


class ContractViolationError(ExtensionError, AssertionError):
    """A family violates clauses of the contract of extension ops.

    Attributes:
        family_id: the family.
        violations: one text for each violation; it begins with the section and name of the clause.
    """

    def __init__(self, family_id: str, violations: tuple[str, ...]) -> None:
        super().__init__(
            family_id,
            "\n  ".join([f"{family_id} violates the contract:", *violations]),
            "check_extension",
        )
        self.violations = violations

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        """Pickle the two fields, from which the text is made."""
        return type(self), (self.family_id, self.violations)


class UnsupportedADRuleError(ADRuleError, NotImplementedError):
    """The family of an extension op on the active path lacks a derivative rule.

    Attributes:
        family_id: the family.
        rule: `"linearize"` or `"transpose"`.
    """

    def __init__(self, family_id: str, rule: str, message: str) -> None:
        super().__init__(f"{family_id}: {message}")
        self.family_id = family_id
        self.rule = rule
        self.message = message

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Pickle the three fields, from which the text is made."""
        return type(self), (self.family_id, self.rule, self.message)


# --- networks -------------------------------------------------------------------------------------


class SubscriptError(ShapeError):
    """The subscripts of an einsum are invalid or do not fit the operands."""


class PathError(TenferroError, ValueError):
    """A contraction path or tree does not contract the operands to one value."""


class MemoryLimitError(TenferroError, MemoryError):
    """A program needs more memory than allowed; the text says where, and what would fit.

    Attributes:
        needed: predicted peak in bytes.
        limit: allowed bytes.
        least: the fewest bytes that were found; `needed`, if nothing was looked for.
    """

    def __init__(self, message: str, needed: int, limit: int, least: int | None = None) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit
        self.least = needed if least is None else least

    def __reduce__(self) -> tuple[type, tuple[str, int, int, int]]:
        """Pickle the arguments of the constructor."""
        return type(self), (str(self), self.needed, self.limit, self.least)


class MissingExtraError(TenferroError, ImportError):
    """A package is not installed; the text names the extra that installs it."""


class ContextMismatch(TenferroError, ValueError):  # noqa: N818  # the specification's name
    """A computation mixes tensors of different eager runtimes."""


# --- front ends -----------------------------------------------------------------------------------


class TracingError(TenferroError, TypeError):
    """A traced value is used where a concrete one is needed, such as in `bool()` or `float()`."""


class PytreeError(TenferroError, TypeError, ValueError):
    """The tree structure of arguments or results does not fit the transform."""


class ExecutorError(TenferroError, RuntimeError):
    """An executor is not installed, or cannot run a program."""


class MissingDependencyError(ExecutorError, ImportError):
    """A library that an executor runs on is missing, broken or too old; it says what to do."""


class PadSafetyError(ExecutorError):
    """A size cannot be rounded up to a bucket, since that would change the results.

    Attributes:
        primitive: the op that does not allow padding, or `input`.
        symbol: the size.
    """

    def __init__(self, primitive: str, symbol: str, reason: str) -> None:
        super().__init__(
            f"bucketing: {primitive}: {symbol} cannot be rounded up: {reason}; "
            f"leave {symbol} out of the buckets"
        )
        self.primitive = primitive
        self.symbol = symbol
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Pickle the three fields, from which the message is made."""
        return type(self), (self.primitive, self.symbol, self.reason)


class DeviceError(ExecutorError):
    """A device does not exist, or operands are on different devices."""


class NotFiniteError(ExecutorError, FloatingPointError):
    """A result has NaN or infinite elements, and a setting of JAX asks for an error then."""


class ForkedError(DeviceError):
    """This process was forked from one where the executor ran, whose threads are not here."""


class FarmError(ExecutorError):
    """A farm cannot finish a job; the text says how much is kept, and what to do."""


class ShardingError(ExecutorError, ValueError):
    """A sharding does not fit the mesh, the array, or the arguments of a function."""


class DistributedError(ExecutorError):
    """The processes of a computation disagree, or one of them is gone."""


class ExchangeError(TenferroError, ValueError, BufferError):
    """A value cannot be shared with another library as asked, for instance without a copy."""


class ConfigError(TenferroError, ValueError):
    """An environment variable or option has an invalid value."""


class CacheWarning(UserWarning):
    """An entry of a cache on disk is not used, or is not written; see `tenferro.cache`."""


class CommandError(TenferroError, ValueError):
    """A command line is invalid: it names a missing or unreadable file, function or shape."""
