"""`Package`: ops, rules, runtimes, lowerings, codecs, and who has registered them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from tenferro.config import config
from tenferro.core import BoundedCache, CacheOwner, Capacity
from tenferro.errors import (
    BackendFailureError,
    ExecutorError,
    ExtensionRegistryError,
    ExtensionRuntimeRegistryError,
    InvalidConfigError,
    UnregisteredExtensionError,
    class_of,
)
from tenferro.ir import NumpyArray, make_meta
from tenferro.ops import StdTensorOp, load_named
from tenferro.ops.control_flow import VOCABULARY
from tenferro.ops.extension.carrier import Extension, raise_named
from tenferro.ops.extension.op import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    ExtensionRuleSet,
    ReverseOnlyOp,
    family_of,
    parse_family_id,
    require_class,
    require_own_family,
    unaliased,
)

__all__ = [
    "Decode",
    "ExtensionCache",
    "ExtensionCaches",
    "ExtensionRegistry",
    "ExtensionRuntime",
    "KernelOp",
    "KernelRuntime",
    "Lowering",
    "Package",
    "RaisedByUser",
    "Register",
    "distinct",
    "for_platform",
    "lowering_of",
    "register_runtimes",
    "require_function",
    "rules_of",
    "vocabulary_of",
]


# Caches of extension families, owned by a compiler, an executor or an eager runtime.


class ExtensionCaches(CacheOwner):
    """One bounded store for objects that the families of one owner keep between runs.

    Examples are plans, handles and compiled inner programs. They affect speed only: removing an
    entry does not change a result.

    >>> caches = ExtensionCaches()
    >>> plans = caches.of("my-package.fft.v1")
    >>> plans.get_or_make((8, "float64"), lambda: "a plan")
    'a plan'
    >>> caches.stats().entries
    1
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._cache: BoundedCache[tuple[object, ...], Any] = BoundedCache(
            Capacity(config.cache_entries, config.cache_bytes) if capacity is None else capacity,
            measure=lambda value: int(getattr(value, "nbytes", 0)),
        )

    def of(self, family_id: str, op_class: type | None = None) -> ExtensionCache:
        """The part of the store that belongs to one family, or to one class of its ops."""
        return ExtensionCache(self._cache, (family_id, op_class))


class ExtensionCache:
    """One family's part of an `ExtensionCaches`."""

    def __init__(
        self, store: BoundedCache[tuple[object, ...], Any], owner: tuple[object, ...]
    ) -> None:
        self._store = store
        self._owner = owner

    def get_or_make(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The entry of `key`; made if there is none."""
        return self._store.get_or_make((self._owner, key), make)


# Runtimes of extension families, and the registry of them in an executor.

Buffer = Any
"""An array of the executor."""


class ExtensionRuntime(Protocol):
    """The implementation of one family on a native backend. Results are on the inputs' device."""

    @property
    def family_id(self) -> str:
        """The family."""

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Buffer], cache: ExtensionCache
    ) -> Sequence[Buffer]:
        """The outputs of `op`.

        Args:
            backend: the `TensorBackend` of the executor.
            op: the op, with its payload.
            inputs: buffers of the backend, which must not be written to.
            cache: the cache of the family in the executor, for plans and other objects.
        """


class RaisedByUser(Exception):  # noqa: N818  # it is no error of its own
    """Brings what a function of the user's raised out of a runtime, to be raised as it is."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class ExtensionRegistry:
    """The runtimes of one executor, by family. The first registered runtime of a family is used.

    An op of any other family raises an error; there is no fallback to `eager_execute`. `owner` is
    the name in the error's text for the object to which the user adds runtimes.
    """

    def __init__(self, owner: str = "executor") -> None:
        self._owner = owner
        self._runtimes: dict[str, tuple[ExtensionRuntime, type[ExtensionOp] | None]] = {}

    def register(
        self, runtime: ExtensionRuntime, op_class: type[ExtensionOp] | None = None
    ) -> None:
        """Register a runtime. Registering a family again has no effect.

        Args:
            runtime: the runtime.
            op_class: the class of its ops, if it runs no ops of other classes of the family.

        Raises:
            MalformedFamilyIdError: the runtime's family id is malformed.
            ExtensionRuntimeRegistryError: it is not a runtime.
        """
        if isinstance(runtime, type) or not all(
            hasattr(runtime, name) for name in ("family_id", "execute")
        ):
            raise ExtensionRuntimeRegistryError(
                str(getattr(runtime, "family_id", "runtime")),
                f"takes a runtime with family_id and execute, got {runtime!r}",
                "register_runtime",
            )
        parse_family_id(runtime.family_id)
        self._runtimes.setdefault(runtime.family_id, (runtime, op_class))

    def copy_to(self, other: ExtensionRegistry) -> None:
        """Register the runtimes in another registry, unless it has runtimes of these families."""
        for runtime, op_class in self._runtimes.values():
            other.register(runtime, op_class)

    def require(self, op: Extension) -> ExtensionRuntime:
        """The runtime of an op's family.

        Raises:
            UnregisteredExtensionError: there is none.
            UnsupportedADRuleError: the op stands for tangents that only reverse mode takes.
            ExtensionRegistryError: it is that of another class of the family.
        """
        runtime, op_class = self._runtimes.get(op.family_id, (None, None))
        if runtime is None and isinstance(op.op, ReverseOnlyOp):
            op.op.refuse()
        if runtime is None:
            raise UnregisteredExtensionError(
                op.family_id,
                f"{op.family_id}: no runtime is registered; give the {self._owner} the package of "
                f"the family, packages=(...), or one with {self._owner}.register_extension(...); "
                "a derivative outside of jit takes it from its context, AdContext(packages=(...))",
            )
        require_class(op.op, op_class, "runtime")
        return runtime

    def execute(
        self, backend: Any, op: Extension, inputs: Sequence[Buffer], caches: ExtensionCaches
    ) -> tuple[Buffer, ...]:
        """The outputs of an op, by its family's runtime.

        Raises:
            UnregisteredExtensionError: the family has no runtime.
            BackendFailureError: the runtime failed.
            ExecutorError: what the runtime runs on cannot run the op.
            InvalidConfigError: the results are not of the inferred types.
            ShapeError, DTypeError: the op cannot take inputs of these sizes.
            Exception: a function of the user's raised it, which the runtime calls.
        """
        runtime = self.require(op)
        expected = op.infer_all([make_meta(buf.dtype, tuple(buf.shape)) for buf in inputs])
        try:
            protected = [_protected(buffer) for buffer in inputs]
            cache = caches.of(op.family_id, type(op.op))
            results = unaliased(runtime.execute(backend, op.op, protected, cache))
        except RaisedByUser as raised:
            raise raised.error from raised.error.__cause__
        except Exception as error:
            kinds = (BackendFailureError, InvalidConfigError, ExecutorError)
            raise_named(op.family_id, error, *kinds)
        return op.checked_results(expected, results)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._runtimes

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._runtimes))

    def __len__(self) -> int:
        return len(self._runtimes)


def _protected(buffer: Buffer) -> Buffer:
    """The buffer, as an array that a runtime cannot write to: it may be the user's own."""
    if not isinstance(buffer, np.ndarray) or not buffer.flags.writeable:
        return buffer
    view = buffer.view()
    view.flags.writeable = False
    return view


F = TypeVar("F", bound=Callable[..., object])


def require_function(register: F) -> F:
    """The argument of `register_extension`.

    Raises:
        ExtensionRegistryError: it is not a function.
    """
    value: object = register
    if not callable(value):
        kind = class_of(value)
        raise ExtensionRegistryError(
            str(getattr(value, "family_id", "register_extension")),
            f"takes a function of the registry, got {kind}; write "
            "register_extension(lambda registry: registry.register(...)), or give the executor a "
            "package, packages=(...)",
            "register_extension",
        )
    return register


Register = Callable[[ExtensionRegistry], object]
"""A function that registers the runtimes of a package; the argument of `register_extension`."""


# Families that run by the reference implementation of their ops.


class KernelOp(ExtensionOp):
    """An op that a kernel computes.

    Attributes:
        kernel: the kernel, as `"module:function"`. It takes the op and NumPy arrays, and returns a
            sequence of arrays, one for each output.
    """

    kernel: ClassVar[str]

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        """The outputs of the kernel."""
        results: Sequence[NumpyArray] = load_named(self.kernel)(self, *inputs)
        return results


class KernelRuntime:
    """Runs a family by the reference implementation of its ops.

    Args:
        family: the op class, or the family id.
    """

    def __init__(self, family: str | type[ExtensionOp]) -> None:
        self.family_id = family_of("KernelRuntime", family)

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[Any], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        return op.eager_execute(inputs)


# Package: the families of a distribution with rules, runtimes, lowerings and codecs.

OpClass = type[ExtensionOp]
Decode = Callable[[tuple[Any, ...]], ExtensionOp]
"""Makes the op whose `payload()` is the tuple."""

Lowering = Callable[..., Any]
"""Takes an op and its operands as values of a compiler; returns one output or a tuple of them.

One that has a parameter `platform`, by keyword only, gets the name of the platform that it lowers
for, such as `cpu` or `cuda`; None where that is not known yet, or there are several. See
`for_platform`."""


@dataclass(frozen=True)
class Package:
    """The families of one distribution: their ops, and everything registered for them.

    Every context takes packages: `jit`, `vmap`, `AdContext`, `GraphExecutor`, `EagerRuntime`,
    `XlaExecutor`, `save`, `load`, `export`, `to_jax`, `check_extension`, and the command line with
    `--package`. Each context uses the parts that it needs.

    Attributes:
        name: the distribution.
        ops: the op classes, one for each family.
        rules: derivative rules, one for each family that has some.
        runtimes: implementations on native backends.
        lowerings: for XLA, by op class; a function of the op and its operands as JAX values, or
            `"module:function"`. The latter is imported when XLA first lowers the family, so that a
            package need not import JAX.
        codecs: functions that make ops from payloads, for op classes whose payload is not the
            fields of a dataclass.
        primitives: op classes outside tenferro's vocabulary that are not extension ops, such as the
            one of `docs/how_to/add_an_op.md`. Text and files are read with them, by name.
        batch_rules: batch rules, one for each family that has one.

    Raises:
        MalformedFamilyIdError: an op class has no valid family id.
        ExtensionRegistryError: two op classes have one family, or a rule, runtime, lowering, codec
            or batch rule belongs to a family that the package does not have, or the name of a
            primitive is that of another op; the text names it.
    """

    name: str
    ops: tuple[OpClass, ...] = ()
    rules: tuple[ExtensionAdRule, ...] = ()
    runtimes: tuple[ExtensionRuntime, ...] = ()
    lowerings: Mapping[OpClass, Lowering | str] = field(default_factory=dict)
    codecs: Mapping[OpClass, Decode] = field(default_factory=dict)
    primitives: tuple[type[StdTensorOp], ...] = ()
    batch_rules: tuple[ExtensionBatchRule, ...] = ()

    def __post_init__(self) -> None:
        for problem in _type_problems(self):
            raise ExtensionRegistryError("", f"Package {self.name!r}: {problem}")
        _check_primitives(self.name, self.primitives)
        for op in self.ops:
            parse_family_id(getattr(op, "FAMILY_ID", ""))
            require_own_family(op)
        families = self.families
        for family in families:
            if families.count(family) > 1:
                raise ExtensionRegistryError(
                    family, f"Package {self.name!r}: two op classes are of the family {family!r}"
                )
        parts = {
            "a rule": [rule.family_id for rule in self.rules],
            "a batch rule": [rule.family_id for rule in self.batch_rules],
            "a runtime": [runtime.family_id for runtime in self.runtimes],
            "a lowering": [op.FAMILY_ID for op in self.lowerings],
            "a codec": [op.FAMILY_ID for op in self.codecs],
        }
        for part, families_of_part in parts.items():
            for family in families_of_part:
                if family not in families:
                    raise ExtensionRegistryError(
                        family,
                        f"Package {self.name!r}: has {part} for {family!r}, which is not the "
                        "family of any of its ops; add the op class to ops=",
                    )
                if families_of_part.count(family) > 1:
                    raise ExtensionRegistryError(
                        family, f"Package {self.name!r}: has {part} for {family!r} twice"
                    )

    @property
    def families(self) -> tuple[str, ...]:
        """The family ids, in the order of the ops."""
        return tuple(op.FAMILY_ID for op in self.ops)

    def ad_rules(self) -> ExtensionRuleSet:
        """A new set of the derivative rules and batch rules of these families.

        Every context has those of tenferro's own packages.
        """
        return rules_of([self])

    def register_runtime(self, registry: ExtensionRegistry) -> None:
        """Register the runtimes of these families; for `register_extension(register_runtime)`.

        Executors do not need it for tenferro's own packages: they run these families.
        """
        register_runtimes([self], registry)


def _type_problems(package: Package) -> Iterator[str]:
    """What is wrong with the types of the fields."""
    name: object = package.name
    if not isinstance(name, str):
        yield f"name must be text, got {class_of(name)}"
    for part in ("ops", "rules", "runtimes", "primitives", "batch_rules"):
        values = getattr(package, part)
        if not isinstance(values, tuple | list):
            yield f"{part} must be a tuple, got {class_of(values)}; write {part}=(...,)"
        else:
            for value in values:
                yield from _part_problems(part, value)
    for part in ("lowerings", "codecs"):
        functions = getattr(package, part)
        if not isinstance(functions, Mapping):
            yield f"{part} must be a mapping by op class, got {class_of(functions)}"
            return
        yield from _function_problems(part, functions)


def _part_problems(part: str, value: object) -> Iterator[str]:
    """What is wrong with the type of an entry of a tuple."""
    if part == "ops":
        if not isinstance(value, type):
            yield f"ops has {value!r}, which is not an op class"
    elif part != "primitives":
        family = None if isinstance(value, type) else getattr(value, "family_id", None)
        if not isinstance(family, str):
            yield f"{part} has {value!r}, which has no family_id"
        elif part == "runtimes" and not hasattr(value, "execute"):
            yield f"{part} has {value!r}, of {family}, which has no execute"


def _function_problems(part: str, functions: Mapping[Any, Any]) -> Iterator[str]:
    """What is wrong with the types of lowerings or codecs."""
    for op, function in functions.items():
        if not (isinstance(op, type) and issubclass(op, ExtensionOp)):
            yield f"{part} has the key {op!r}, which is not an op class"
        elif not callable(function) and not (part == "lowerings" and isinstance(function, str)):
            yield f"{part}: that of {op.__name__} must be a function, got {function!r}"


def distinct(packages: Iterable[Package]) -> tuple[Package, ...]:
    """The packages, checked.

    Raises:
        ExtensionRegistryError: a value is not a package, or two packages have the same family; the
            text names both.
    """
    checked = tuple(packages)
    owners: dict[str, Package] = {}
    for package in checked:
        if not isinstance(package, Package):
            raise ExtensionRegistryError(
                "", f"packages: takes Package values, got {class_of(package)}"
            )
        for family in package.families:
            if family in owners:
                first = owners[family]
                twice = f"the package {package.name!r} is given twice"
                both = f"the packages {first.name!r} and {package.name!r} both have it"
                raise ExtensionRegistryError(
                    family,
                    f"packages: family {family!r}: {twice if first is package else both}; "
                    "pass each package once",
                )
            owners[family] = package
    vocabulary_of(checked)
    return checked


def vocabulary_of(packages: Iterable[Package]) -> dict[str, type[StdTensorOp]]:
    """The ops with which text and files are read, by name: tenferro's and those of the packages.

    Raises:
        ExtensionRegistryError: two packages have ops of the same name; the text names both.
    """
    vocabulary = dict(VOCABULARY)
    owners: dict[str, str] = {}
    for package in packages:
        for op in package.primitives:
            if op.name in owners:
                raise ExtensionRegistryError(
                    "",
                    f"packages: the op {op.name!r} is in {owners[op.name]!r} and in "
                    f"{package.name!r}; rename one of them",
                )
            owners[op.name] = package.name
            vocabulary[op.name] = op
    return vocabulary


def _check_primitives(package: str, primitives: Iterable[type[StdTensorOp]]) -> None:
    names: set[str] = set()
    for op in primitives:
        if not (isinstance(op, type) and issubclass(op, StdTensorOp)):
            raise ExtensionRegistryError(
                "", f"Package {package!r}: primitives takes classes of StdTensorOp, got {op!r}"
            )
        if op.name in VOCABULARY or op.name in names:
            raise ExtensionRegistryError(
                "",
                f"Package {package!r}: there is an op {op.name!r} already; give the primitive "
                f"{op.__name__} another name",
            )
        names.add(op.name)


def rules_of(packages: Sequence[Package]) -> ExtensionRuleSet:
    """The derivative rules and batch rules of packages, as a new set."""
    rules = ExtensionRuleSet()
    for package in packages:
        classes = {op.FAMILY_ID: op for op in package.ops}
        for rule in package.rules:
            rules.register_rule(rule, classes[rule.family_id])
        for batch_rule in package.batch_rules:
            rules.register_batch_rule(batch_rule, classes[batch_rule.family_id])
    return rules


def register_runtimes(packages: Sequence[Package], registry: ExtensionRegistry) -> None:
    """Register the runtimes of packages in a registry."""
    for package in packages:
        classes = {op.FAMILY_ID: op for op in package.ops}
        for runtime in package.runtimes:
            registry.register(runtime, classes[runtime.family_id])


def lowering_of(lowering: Lowering | str) -> Lowering:
    """The function of a lowering, imported if it is given by name.

    Raises:
        ExtensionRegistryError: there is no such module or function.
    """
    if not isinstance(lowering, str):
        return lowering
    try:
        function: Lowering = load_named(lowering)
    except (ImportError, AttributeError) as error:
        raise ExtensionRegistryError(
            "",
            f"packages: the lowering {lowering!r} cannot be imported: {error}; "
            "write it as 'module:function'",
        ) from error
    return function


def for_platform(lowering: Lowering, platform: str | None) -> Lowering:
    """The lowering for a platform: with it, if it takes one by keyword; see `Lowering`.

    >>> for_platform(lambda op, x, *, platform: platform, "cuda")(None, 1.0)
    'cuda'
    >>> for_platform(lambda op, x: x, "cuda")(None, 1.0)
    1.0
    """
    try:
        parameter = inspect.signature(lowering).parameters.get("platform")
    except (TypeError, ValueError):  # a function in C may have no signature
        return lowering
    if parameter is None or parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        return lowering
    return partial(lowering, platform=platform)
