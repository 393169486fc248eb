"""Every error of the library, on one page.

All of them derive from `TenferroError`. Those that a Python programmer would expect under a built-
in name (a wrong type, a wrong value, a missing key) derive from that built-in as well, so that
ordinary `except` clauses work.

A text reads `op: what is wrong, with the operands as types; what to do`.
"""

from __future__ import annotations


class TenferroError(Exception):
    """Base class of every refusal that tenferro makes on purpose."""


# --- graphs ---------------------------------------------------------------------------------------


class GraphError(TenferroError):
    """A graph is put together wrongly.

    A bad arity, a foreign local id, a value that is not in the fragment.
    """


class UnresolvedValueError(GraphError, LookupError):
    """An external reference whose definition no fragment of the view holds."""


class ProgramError(TenferroError):
    """A compiled program is malformed or is called wrongly."""


class BindingError(ProgramError, ValueError):
    """An input of a program is unbound, unexpected, bound twice, or bound to a wrong type."""


class VerifyError(ProgramError):
    """An execution program breaks an invariant of the IR."""


class ParseError(ProgramError, ValueError):
    """Text that is not an execution program."""


class FileError(ProgramError, ValueError):
    """Bytes that are not a file of tenferro, or a value that such a file cannot hold."""


# --- metadata -------------------------------------------------------------------------------------


class ShapeError(TenferroError, ValueError):
    """Operands whose ranks or extents an op cannot take."""


class ControlFlowError(TenferroError, TypeError):
    """A body of a loop or branch does not fit: its structure, or the types that go in and out."""


class AxisError(ShapeError, IndexError):
    """An axis that is out of range, or given twice."""


class DTypeError(TenferroError, TypeError):
    """Operands whose dtypes an op cannot take."""


class ExtentError(ShapeError, OverflowError):
    """An extent that is negative, overflows, or makes a tensor larger than the byte budget."""


class UnsupportedDynamicShapeError(ShapeError):
    """A place that needs an exact extent, and was given a symbolic one, an upper bound, or nothing.

    Attributes:
        primitive: the op that needs the extent.
        field: the metadata field that had to be exact.
        observed: what was found there.
    """

    def __init__(self, primitive: str, field: str, observed: str) -> None:
        super().__init__(
            f"UnsupportedDynamicShape: {primitive}: {field} must be exact, but is {observed}"
        )
        self.primitive = primitive
        self.field = field
        self.observed = observed

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Pickle by the three fields, since the message is made from them."""
        return type(self), (self.primitive, self.field, self.observed)


class RuntimeSizeError(ShapeError):
    """A scalar that is to be a size when the program runs, and is NaN or infinite."""


class GuardViolationError(ShapeError):
    """A guard that was recorded while building does not hold for the shapes of a run."""


# --- derivatives ----------------------------------------------------------------------------------


class ADError(TenferroError):
    """A derivative that cannot be taken."""


class ADRuleError(ADError):
    """An op on the active path has no rule, or a rule breaks its contract."""


class NonScalarGradError(ADError, TypeError):
    """`grad` of a result that is not a scalar, or is complex without `holomorphic=True`."""


# --- extensions -----------------------------------------------------------------------------------


class ExtensionError(TenferroError):
    """A family of extension ops breaks its contract, or is not known where it is needed.

    Attributes:
        op: what was being done, `"extension"` unless it can be said more closely.
        family_id: the family.
        message: what is wrong; it names the family, which comes first where it did not.
    """

    def __init__(self, family_id: str, message: str, op: str = "extension") -> None:
        if family_id not in message and repr(family_id) not in message:
            message = f"{family_id}: {message}"
        super().__init__(f"{op}: {message}")
        self.op = op
        self.family_id = family_id
        self.message = message

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle by the three fields, since the text is made from them."""
        return type(self), (self.family_id, self.message, self.op)


class InvalidConfigError(ExtensionError, ValueError):
    """An extension op that contradicts itself: in its arity, its results or its payload."""


class UnsupportedExtensionError(ExtensionError, NotImplementedError):
    """A family that this program, file or lowerer cannot handle."""


class BackendFailureError(ExtensionError, RuntimeError):
    """The runtime of a family failed; the cause is attached."""


class UnregisteredExtensionError(BackendFailureError):
    """A program needs the runtime of a family that the executor does not have."""


class ExtensionRegistryError(ExtensionError, ValueError):
    """A derivative rule or payload codec that cannot be registered."""


class DuplicateRuleError(ExtensionRegistryError):
    """A second derivative rule for one family in one rule set."""


class ExtensionRuntimeRegistryError(ExtensionError, ValueError):
    """The runtime of a family that cannot be registered."""


class MalformedFamilyIdError(ExtensionRegistryError, ExtensionRuntimeRegistryError):
    """A family id that is not of the form `<distribution>.<op>.v<major>`."""


class ContractViolationError(ExtensionError, AssertionError):
    """A family that breaks clauses of the contract of extension ops.

    Attributes:
        family_id: the family.
        violations: what is wrong; each begins with the section and the name of the clause.
    """

    def __init__(self, family_id: str, violations: tuple[str, ...]) -> None:
        super().__init__(
            family_id,
            "\n  ".join([f"{family_id} violates the contract:", *violations]),
            "check_extension",
        )
        self.violations = violations

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        """Pickle by the two fields, since the text is made from them."""
        return type(self), (self.family_id, self.violations)


class UnsupportedADRuleError(ADRuleError, NotImplementedError):
    """An extension op on the active path whose family has no such derivative rule.

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
        """Pickle by the three fields, since the text is made from them."""
        return type(self), (self.family_id, self.rule, self.message)


# --- networks -------------------------------------------------------------------------------------


class SubscriptError(ShapeError):
    """Subscripts of an einsum that are not subscripts, or do not fit the operands."""


class PathError(TenferroError, ValueError):
    """A contraction path or tree that does not contract the operands to one."""


class MemoryLimitError(TenferroError, MemoryError):
    """A contraction that needs more memory than it may take; says what would fit.

    Attributes:
        needed: predicted peak in bytes.
        limit: what was allowed, in bytes.
    """

    def __init__(self, message: str, needed: int, limit: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit

    def __reduce__(self) -> tuple[type, tuple[str, int, int]]:
        """Pickle by what the error was made of."""
        return type(self), (str(self), self.needed, self.limit)


class MissingExtraError(TenferroError, ImportError):
    """Something that needs a package which is not installed; names the extra that brings it."""


class ContextMismatch(TenferroError, ValueError):  # noqa: N818  # the specification's name
    """Tensors of different eager runtimes in one computation."""


# --- front ends -----------------------------------------------------------------------------------


class TracingError(TenferroError, TypeError):
    """A traced value used where a concrete one is needed, such as `bool()` or `float()`."""


class PytreeError(TenferroError, TypeError):
    """Arguments or results whose tree structure is not what the transform needs."""


class ExecutorError(TenferroError, RuntimeError):
    """An executor that is not installed, or that cannot run what it is given."""


class PadSafetyError(ExecutorError):
    """A size that was to be rounded up, in a program that would compute something else then.

    Attributes:
        primitive: the op that stands in the way, or `input`.
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
        """Pickle by what the message is made from."""
        return type(self), (self.primitive, self.symbol, self.reason)


class DeviceError(ExecutorError):
    """A device that does not exist, or operands that live on different devices."""


class ConfigError(TenferroError, ValueError):
    """An environment variable or option with a value that is not allowed."""


class CommandError(TenferroError, ValueError):
    """A command line that cannot be carried out.

    A file, a function or a shape that is not there or not readable.
    """
