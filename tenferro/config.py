"""Settings from environment variables; how dtypes are chosen; checks of option values.

The environment is read once, when this module is first imported. Settings of a single program, such
as its passes or its matmul precision, are options of the compiler or executor.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from types import ModuleType

from tenferro.errors import ConfigError

__all__ = ["enable_x64"]


# All settings that environment variables change, with name, type, default and meaning.


def _host_memory() -> int:
    """The memory of this machine in bytes; 64 GiB where it cannot be asked."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not a POSIX system, or it does not know
        return 1 << 36


DEFAULT_EXECUTOR = "xla"
STAGES = ("fragment", "materialized", "exec", "passes", "stablehlo")


@dataclass(frozen=True, slots=True)
class Config:
    """The settings; each field is the environment variable `TENFERRO_<NAME>`.

    `docs/environment.md` has a row for each.

    Attributes:
        executor: name of the default executor of `tn.jit`.
        dump: stages of `STAGES` that are logged while compiling; see `tenferro.logs`.
        max_bytes: largest size of a value of a program in bytes; programs with larger values are
            refused before they run. By default 64 GiB, or the memory of the host if that is less.
        literal_bytes: largest size in bytes of a constant in a program; larger arrays become
            inputs of the program.
        cache_entries: capacity of each cache, in entries.
        cache_bytes: capacity in bytes of each cache whose entries have a known size.
        verify: whether the verifier runs after each compiler pass.
        check_keys: whether a program that draws twice from one random key is refused.
        cache_dir: folder in which programs and executables are kept; see `tenferro.cache`. None if
            it is empty.
        quiet: whether a compilation that takes long says nothing.
        full_tracebacks: whether tracebacks of errors in traced functions show frames of tenferro.
        promotion: whose rules say what the dtype of several arrays is: `numpy` or `jax`.
        default_float: the dtype of numbers that have none: `float32` or `float64`.
    """

    executor: str = DEFAULT_EXECUTOR
    dump: tuple[str, ...] = ()
    max_bytes: int = min(1 << 36, _host_memory())
    literal_bytes: int = 1 << 10
    cache_entries: int = 1024
    cache_bytes: int = 1 << 30
    verify: bool = False
    check_keys: bool = False
    cache_dir: str = ""
    quiet: bool = False
    full_tracebacks: bool = False
    promotion: str = "numpy"
    default_float: str = "float64"


def parse(environ: Mapping[str, str]) -> Config:
    """The settings in `environ`.

    Raises:
        ConfigError: variables have invalid values; the text names each of them.

    >>> parse({"TENFERRO_CACHE_ENTRIES": "16"}).cache_entries
    16
    """
    values: dict[str, object] = {}
    problems = []
    for field in fields(Config):
        variable = f"TENFERRO_{field.name.upper()}"
        if variable in environ:
            try:
                values[field.name] = _value(variable, environ[variable], field.default)
            except ConfigError as error:
                problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return Config(**values)  # type: ignore[arg-type]  # _value returns the type of the field's default


def _value(variable: str, text: str, default: object) -> object:
    if not text.strip():
        raise ConfigError(f"{variable}: is empty; give a value, or unset it")
    match default:
        case bool():
            if text.lower() not in ("0", "1", "true", "false"):
                raise ConfigError(f"{variable}: expected 0 or 1, got {text!r}")
            return text.lower() in ("1", "true")
        case int():
            try:
                number = int(text)
            except ValueError:
                raise ConfigError(f"{variable}: expected an integer, got {text!r}") from None
            if number < 0:
                raise ConfigError(f"{variable}: expected an integer >= 0, got {number}")
            return number
        case tuple():
            stages = tuple(part.strip() for part in text.split(",") if part.strip())
            unknown = [stage for stage in stages if stage not in STAGES]
            if unknown:
                raise ConfigError(
                    f"{variable}: unknown stage {unknown[0]!r}; "
                    f"expected some of {', '.join(STAGES)}"
                )
            return stages
        case "numpy" | "float64":
            _choice(variable, variable.removeprefix("TENFERRO_").lower(), text)
            return text
        case _:
            return text


# How dtypes are chosen, where arrays of several dtypes meet, and where a number has none.

_CHOICES = {"promotion": ("numpy", "jax"), "default_float": ("float64", "float32")}


def _choice(caller: str, name: str, value: object) -> None:
    """Raise ConfigError unless a setting may have this value."""
    if value not in _CHOICES[name]:
        words = " or ".join(map(repr, _CHOICES[name]))
        raise ConfigError(f"{caller}: {name} must be {words}, got {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class DtypeRules:
    """How dtypes are chosen. There is one object for each choice; compared by `is`.

    Attributes:
        promotion: see `Config`.
        default_float: see `Config`.
    """

    promotion: str
    default_float: str

    @property
    def narrows(self) -> bool:
        """Whether floats of 64 bits in arrays of NumPy become floats of 32 bits, as in JAX."""
        return self is RULES_OF_JAX


_RULES = {
    (promotion, default): DtypeRules(promotion, default)
    for promotion in _CHOICES["promotion"]
    for default in _CHOICES["default_float"]
}
DEFAULT_RULES = _RULES["numpy", "float64"]
RULES_OF_JAX = _RULES["jax", "float32"]
rules_here: ContextVar[DtypeRules | None] = ContextVar("tenferro_dtype_rules", default=None)


def dtype_rules() -> DtypeRules:
    """The rules in this thread or task: those of `using`, or else those of the process.

    >>> dtype_rules().promotion
    'numpy'
    """
    return rules_here.get() or RULES_OF_PROCESS[0]


@contextmanager
def using(*, promotion: str | None = None, default_float: str | None = None) -> Iterator[None]:
    """A context in which dtypes are chosen in another way, in this thread or task; they nest.

    Functions that are compiled have a version for each choice that they are called with.

    Args:
        promotion: `numpy`, by whose rules `float32` and `int32` arrays make `float64`; or `jax`, by
            whose rules they make `float32`, and so do all arrays that are not wider floats.
        default_float: `float64` or `float32`, the dtype of what has none: Python's floats and lists
            of them, `tn.zeros(3)`, random numbers, the sine of integers. If it is `float32`,
            scalars of NumPy such as `np.sqrt(3)` are numbers of Python; and if `promotion` is
            `jax`, arrays of NumPy in floats of 64 bits are narrowed where functions take them.

    Raises:
        ConfigError: a setting has another value.

    >>> import numpy as np
    >>> import tenferro as tn
    >>> with using(promotion="jax", default_float="float32"):
    ...     (tn.ones(2) * np.arange(2) / np.sqrt(3)).dtype
    dtype('float32')
    """
    token = rules_here.set(_changed("using", promotion, default_float))
    try:
        yield
    finally:
        rules_here.reset(token)


def _changed(caller: str, promotion: str | None, default_float: str | None) -> DtypeRules:
    """The present rules with others in place of those that are not None."""
    rules = dtype_rules()
    for name, value in (("promotion", promotion), ("default_float", default_float)):
        if value is not None:
            _choice(caller, name, value)
    return _RULES[promotion or rules.promotion, default_float or rules.default_float]


promotion: str
default_float: str
jax_enable_x64: bool
x64_enabled: bool


class _Settings(ModuleType):
    """This module, whose settings of the process are assigned as those of JAX are."""

    @property
    def promotion(self) -> str:
        """`numpy` or `jax`; see `using`."""
        return dtype_rules().promotion

    @promotion.setter
    def promotion(self, value: str) -> None:
        update("promotion", value)

    @property
    def default_float(self) -> str:
        """`float64` or `float32`; see `using`."""
        return dtype_rules().default_float

    @default_float.setter
    def default_float(self, value: str) -> None:
        update("default_float", value)

    @property
    def jax_enable_x64(self) -> bool:
        """Whether the default is float64."""
        return dtype_rules().default_float == "float64"

    x64_enabled = jax_enable_x64


sys.modules[__name__].__class__ = _Settings


_AS_IN_JAX: dict[str, tuple[bool, str]] = {
    "jax_disable_jit": (False, "use tn.disable_jit()"),
    "jax_debug_nans": (False, "look at values in tn.disable_jit(), or test them in the program"),
    "jax_log_compiles": (False, "use tn.log_compiles()"),
}
"""Settings of JAX that have one value here, and what to do instead of setting another."""


def update(name: str, val: object) -> None:
    """Set `promotion` or `default_float` for the process; see `using`.

    As in `jax.config.update`, `jax_enable_x64` makes the default float64 or float32; arrays of 64
    bits stay so. `jax_num_cpu_devices` divides the CPU into devices, for JAX too. Other settings of
    JAX are accepted where they ask for what always holds.

    Raises:
        ConfigError: there is no such setting, it has another value, or it is too late to divide the
            CPU.

    >>> update("jax_enable_x64", True)
    >>> update("promotion", "numpy")
    """
    if name == "jax_enable_x64":
        name, val = "default_float", _float_of(flag("config.update: jax_enable_x64", val))
    if name in _CHOICES:
        _choice("config.update", name, val)
        rules = RULES_OF_PROCESS[0]
        promotion = val if name == "promotion" else rules.promotion
        default_float = val if name == "default_float" else rules.default_float
        RULES_OF_PROCESS[0] = _RULES[str(promotion), str(default_float)]
        return
    if name == "jax_num_cpu_devices":
        _divide_cpu(val)
        return
    if name in _AS_IN_JAX:
        always, instead = _AS_IN_JAX[name]
        if val is not always:
            raise ConfigError(f"config.update: {name} is always {always}; {instead}")
        return
    raise ConfigError(
        f"config.update: there is no setting {name!r}; the environment variables TENFERRO_* are in "
        "tenferro.config, options of a program belong to tn.jit and to executors"
    )


MOST_CPU_DEVICES = 4096
"""Each device of the CPU has threads of its own."""


def _divide_cpu(count: object) -> None:
    """Make JAX show the CPU as several devices, whether it has been imported or not."""
    if type(count) is not int or not 1 <= count <= MOST_CPU_DEVICES:
        raise ConfigError(
            "config.update: jax_num_cpu_devices must be an integer from 1 to "
            f"{MOST_CPU_DEVICES}, got {count!r}"
        )
    jax = sys.modules.get("jax")
    if jax is not None:
        try:
            jax.config.update("jax_num_cpu_devices", count)
        except RuntimeError:
            raise ConfigError(
                "config.update: jax_num_cpu_devices is read when the first array is computed; set "
                "it before that"
            ) from None
    os.environ["JAX_NUM_CPU_DEVICES"] = str(count)


def _float_of(x64: bool) -> str:
    return "float64" if x64 else "float32"


@contextmanager
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """`jax.enable_x64`: numbers that have no dtype are float64, or float32; see `using`.

    Arrays of 64 bits stay so, unlike in JAX.

    Raises:
        ConfigError: it is neither True nor False.

    >>> import tenferro as tn
    >>> with enable_x64(False):
    ...     tn.zeros(3).dtype
    dtype('float32')
    """
    with using(default_float=_float_of(flag("enable_x64", new_val))):
        yield


config = parse(os.environ)
RULES_OF_PROCESS = [_RULES[config.promotion, config.default_float]]
"""The rules of the process."""


# Values of options, checked where a user gives them.


def flag(option: str, value: object) -> bool:
    """A value that must be True or False, or 1 or 0; `option` names it in errors.

    Raises:
        ConfigError: it is another value, such as `"yes"`, which would count as True.

    >>> flag("jit: tiers", True), flag("jit: tiers", 0)
    (True, False)
    """
    if isinstance(value, bool):
        return value
    if (isinstance(value, int) or not getattr(value, "shape", (1,))) and value in (0, 1):
        return bool(value)
    raise ConfigError(f"{option} must be True or False, got {value!r}")


def count(option: str, value: object, least: int, what: str = "an integer") -> int:
    """A value that must be an integer, and at least so large.

    Raises:
        ConfigError: it is not.

    >>> count("initialize: processes", 2, 1)
    2
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{option} must be {what}, at least {least}, got {value!r}")
    return value


def seconds(option: str, value: object) -> float:
    """A value that must be a time in seconds, longer than none.

    Raises:
        ConfigError: it is not.

    >>> seconds("initialize: call_timeout", 600)
    600.0
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]  # it is a number
        raise ConfigError(f"{option} must be a number of seconds above 0, got {value!r}")
    return float(value)  # type: ignore[arg-type]
