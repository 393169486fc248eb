"""The harness of JAX's own tests, turned to tenferro.

A file of tests is rewritten by `tenferro port` and loaded by `load`. Its tests keep their helpers,
references, tolerances and finite differences, which are those of `jax._src.test_util`; what they
test is tenferro's. Three things differ from a program that a user ports:

* A name that tenferro does not have is an object that fails when it is used: a file is read whole.
  Names of settings, internals and dtypes that are not there stay JAX's: the harness reads them.
* Derivatives by complex numbers are conjugated, and None is a zero, as in JAX.
* Where JAX raises an error, any error of tenferro will do. What is compiled may round in another
  order than what is not: un-jitted, JAX runs the same programs.
"""

from __future__ import annotations

import builtins
import functools
import re
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.test_util
import numpy as np
from absl.testing import parameterized
from jax._src import public_test_util, test_util
from jax._src.random import prng

import tenferro as tn
from tenferro import missing_names
from tenferro.cli.port import Porter
from tenferro.errors import MissingNameError, TenferroError

LOADING = [False]
"""Whether a file of tests is read, where names that are missing may be used."""


class AbsentError(Exception):
    """A name that tenferro does not have was used."""


class NotRefusedError(AssertionError):
    """Tenferro takes what JAX refuses."""


class Absent:
    """A name that tenferro does not have."""

    def __init__(self, name: str, reason: str) -> None:
        self.__name__, self._reason = name, reason

    def _use(self, *args: object, **kwargs: object) -> Any:
        if not LOADING[0]:
            raise AbsentError(f"{self.__name__}: {self._reason}")
        return self

    __call__ = __getitem__ = __enter__ = __len__ = _use
    __add__ = __radd__ = __mul__ = __or__ = __ror__ = __contains__ = _use

    def __exit__(self, *raised: object) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        return iter((self._use(),))

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}", self._reason)

    def __mro_entries__(self, bases: tuple[type, ...]) -> tuple[type, ...]:
        return ()


STAYS = (missing_names.DTYPE, missing_names.INTERNAL, missing_names.SETTING)
"""Reasons of missing names that the harness needs: they stay JAX's."""
OF_THE_HARNESS = {
    *("config", "errors", "dtypes", "core", "interpreters", "typing", "export", "version"),
    *("default_matmul_precision", "debug_nans", "debug_infs", "debug_key_reuse", "enable_checks"),
    *("numpy_dtype_promotion", "log_compiles", "explain_cache_misses", "clear_caches", "float0"),
    *("live_arrays", "_src", "__version__", "__version_info__"),
}


class Space(types.ModuleType):
    """A module of tenferro as the tests see it, under the path that JAX has for it."""

    def __init__(self, path: str, target: types.ModuleType, **own: object) -> None:
        super().__init__(path)
        self._target = target
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if self.__name__ == "jax" and name in OF_THE_HARNESS:
            return getattr(jax, name)
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = getattr(self._target, name)
        except AttributeError as error:
            found = self._without(path, name, str(error))
        if isinstance(found, types.ModuleType) and found.__name__.startswith("tenferro"):
            found = Space(path, found)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return dir(self._target)

    def _without(self, path: str, name: str, text: str) -> Any:
        """What stands for a name that tenferro lacks: a module, JAX's, or nothing."""
        module = f"{self._target.__name__}.{name}"
        if missing_names_are_modules(module):
            return builtins.__import__(module, fromlist=("*",))
        reasons = getattr(self._target, "MISSING", missing_names.MISSING)
        if reasons.get(name) in STAYS:
            return getattr(builtins.__import__(self.__name__, fromlist=("*",)), name)
        return Absent(path, text.partition("; ")[2] or "there is no such name")


@functools.cache
def missing_names_are_modules(module: str) -> bool:
    """Whether a name is that of a module of tenferro that nothing has imported."""
    try:
        builtins.__import__(module, fromlist=("*",))
    except ImportError:
        return False
    return True


# The convention of JAX for derivatives.


def conjugated(tree: Any) -> Any:
    """The tree with its complex numbers conjugated."""

    def one(x: Any) -> Any:
        dtype = getattr(x, "dtype", None)
        complex_array = isinstance(dtype, np.dtype) and dtype.kind == "c"
        return tn.conj(x) if complex_array or isinstance(x, complex) else x

    return tn.tree.map(one, tree)


def zeros_for_none(like: Any, tree: Any) -> Any:
    """The tree with zeros where it has None, and `like` has floating-point numbers."""
    leaves, structure = tn.tree.flatten(like)
    try:
        found = structure.flatten_up_to(tree)
    except (ValueError, TypeError):
        return tree
    return structure.unflatten(
        [
            np.zeros(np.shape(x), tn.result_type(x)) if y is None and is_inexact(x) else y
            for x, y in zip(leaves, found, strict=True)
        ]
    )


def is_inexact(x: Any) -> bool:
    """Whether an array or number has derivatives."""
    return np.dtype(tn.result_type(x)).kind in "fc"


def grad(fun: Callable[..., Any], *args: Any, has_aux: bool = False, **options: Any) -> Any:
    """`jax.grad`."""
    own = tn.grad(fun, *args, has_aux=has_aux, **options)

    @functools.wraps(own)
    def called(*args: Any, **kwargs: Any) -> Any:
        found = own(*args, **kwargs)
        return (conjugated(found[0]), found[1]) if has_aux else conjugated(found)

    return called


def value_and_grad(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`jax.value_and_grad`."""
    own = tn.value_and_grad(fun, *args, **options)

    @functools.wraps(own)
    def called(*args: Any, **kwargs: Any) -> Any:
        value, found = own(*args, **kwargs)
        return value, conjugated(found)

    return called


def vjp(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
    """`jax.vjp`."""
    value, pullback, *aux = tn.vjp(fun, *primals, **options)
    return (value, tn.tree_util.Partial(pulled_back, primals, pullback), *aux)


def pulled_back(primals: Any, pullback: Callable[[Any], Any], cotangent: Any) -> Any:
    """The cotangents of arguments."""
    return zeros_for_none(primals, conjugated(pullback(conjugated(cotangent))))


def jvp(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`jax.jvp`."""
    value, tangent, *aux = tn.jvp(fun, *args, **options)
    return (value, zeros_for_none(value, tangent), *aux)


def linearize(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
    """`jax.linearize`."""
    value, push, *aux = tn.linearize(fun, *primals, **options)
    return (value, tn.tree_util.Partial(pushed, value, push), *aux)


def pushed(value: Any, push: Callable[..., Any], *tangents: Any) -> Any:
    """The tangent of a result."""
    return zeros_for_none(value, push(*tangents))


def linear_transpose(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
    """`jax.linear_transpose`."""
    own = tn.linear_transpose(fun, *primals, **options)
    return tn.tree_util.Partial(adjoint, own)


def adjoint(own: Callable[[Any], Any], cotangent: Any) -> Any:
    """The cotangents of arguments of a linear function."""
    return conjugated(own(conjugated(cotangent)))


DERIVATIVES = {each.__name__: each for each in (grad, value_and_grad, vjp, jvp, linearize)}
JAX = Space("jax", tn, linear_transpose=linear_transpose, **DERIVATIVES)
JAX.lax.linear_transpose = linear_transpose
JAX.test_util = jax.test_util
JAX.debug.debug_print, JAX.debug.debug_callback = tn.debug.print, tn.debug.callback


# Assertions.


class Expected:
    """`assertRaises`, which takes tenferro's errors for JAX's, and any text."""

    def __init__(self, kinds: Any) -> None:
        self.kinds = kinds
        self.exception: BaseException | None = None

    def __enter__(self) -> Expected:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: object) -> bool:
        if kind is None:
            name = getattr(self.kinds, "__name__", str(self.kinds))
            raise NotRefusedError(f"{name} not raised")
        self.exception = error
        if issubclass(kind, AbsentError | MissingNameError):
            return False
        return issubclass(kind, TenferroError) or issubclass(kind, self.kinds)


def assert_raises(self: Any, kinds: Any, *args: Any, **kwargs: Any) -> Any:
    """`assertRaises`."""
    if not args:
        return Expected(kinds)
    with Expected(kinds):
        return args[0](*args[1:], **kwargs)


def assert_raises_regex(self: Any, kinds: Any, text: Any, *args: Any, **kwargs: Any) -> Any:
    """`assertRaisesRegex`."""
    return assert_raises(self, kinds, *args, **kwargs)


def check_raises(thunk: Callable[[], Any], kinds: Any, text: str) -> None:
    """`test_util.check_raises`."""
    with Expected(kinds):
        thunk()


def on_the_host(value: Any) -> Any:
    """Arguments of a reference: tenferro's arrays in them are NumPy's."""
    if isinstance(value, tn.Array):
        return np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(map(on_the_host, value))
    if type(value) is dict:
        return {name: on_the_host(each) for name, each in value.items()}
    return value


def check_against_numpy(
    self: Any,
    reference: Callable[..., Any],
    function: Callable[..., Any],
    make: Callable[[], Any],
    check_dtypes: bool = True,
    tol: Any = None,
    atol: Any = None,
    rtol: Any = None,
    canonicalize_dtypes: bool = True,
) -> None:
    """`_CheckAgainstNumpy`, with a reference that computes with NumPy."""
    args = make()
    expected = reference(*on_the_host(tuple(args)))
    tolerances = {"atol": atol or tol, "rtol": rtol or tol}
    self.assertAllClose(function(*args), expected, check_dtypes=check_dtypes, **tolerances)


ROUNDING = {
    "float16": 5e-3,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float64": 1e-12,
    "complex128": 1e-12,
}
"""What programs that round in another order may differ by."""


def compile_and_check(
    self: Any,
    function: Callable[..., Any],
    make: Callable[[], Any],
    *,
    check_dtypes: bool = True,
    tol: Any = None,
    rtol: Any = None,
    atol: Any = None,
    check_cache_misses: bool = True,
) -> None:
    """`_CompileAndCheck`: what is compiled gives what is not."""
    compiled = tn.jit(lambda *args: function(*args))
    tolerances = {"atol": with_rounding(atol or tol), "rtol": with_rounding(rtol or tol)}
    for _ in range(2):
        args = make()
        expected = function(*args)
        self.assertAllClose(compiled(*args), expected, check_dtypes=check_dtypes, **tolerances)


def with_rounding(tolerance: Any) -> dict[Any, float]:
    """A tolerance of a test that allows for rounding in another order."""
    given = tolerance if isinstance(tolerance, dict) else dict.fromkeys(ROUNDING, tolerance or 0.0)
    named = {np.dtype(dtype): value for dtype, value in given.items()}
    return named | {
        np.dtype(dtype): max(named.get(np.dtype(dtype), 0.0), least)
        for dtype, least in ROUNDING.items()
    }


# Setting up.


def install() -> None:
    """Turn JAX's harness to tenferro."""
    jax.config.update("jax_enable_x64", True)
    tn.config.promotion = "jax"
    case = test_util.JaxTestCase
    case._default_thread_local_config = {"jax_legacy_prng_key": "allow"}
    case.assertRaises, case.assertRaisesRegex = assert_raises, assert_raises_regex
    case._CheckAgainstNumpy, case._CompileAndCheck = check_against_numpy, compile_and_check
    test_util.check_raises = test_util.check_raises_regexp = check_raises
    public_test_util.api = types.SimpleNamespace(jvp=jvp, vjp=vjp, linearize=linearize)
    test_util.with_explicit_mesh = with_mesh
    test_util.is_sequence = lambda x: np.iterable(x) and not isinstance(x, tn.Array)

    def jit(*args: Any, **options: Any) -> Any:
        return tn.jit(*args, **options)

    jit._name = "jit"  # type: ignore[attr-defined]
    test_util.JIT_IMPLEMENTATION = (jit, test_util._NOOP_JIT_IMPLEMENTATION)
    supported = {each for each in test_util.supported_dtypes() if is_supported(each)}
    test_util.supported_dtypes = lambda: supported
    for name in dir(tn.tree_util):
        if name.startswith("register_") and hasattr(jax.tree_util, name):
            setattr(JAX.tree_util, name, registered_twice(name))
    decorated = parameterized._parameter_decorator

    def parameters(*args: Any) -> Any:  # none may be left
        try:
            return decorated(*args)
        except parameterized.NoTestsError:
            return lambda f: unittest.skip("no parameters are left")(lambda self: None)

    parameterized._parameter_decorator = parameters


def with_mesh(sizes: Any, names: Any, axis_types: Any = None, iota_order: bool = False) -> Any:
    """`with_explicit_mesh`, on whose mesh XLA chooses shardings."""

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        def on_mesh(*args: Any, **kwargs: Any) -> None:
            mesh = test_util.create_mesh(sizes, names, iota_order)
            with tn.set_mesh(mesh):
                test(*args, **kwargs, mesh=mesh)

        return on_mesh

    return decorated


def is_supported(dtype: Any) -> bool:
    """Whether arrays of tenferro have a dtype."""
    try:
        tn.zeros(0, dtype=dtype)
    except TenferroError:
        return False
    return True


def registered_twice(name: str) -> Callable[..., Any]:
    """A function that registers classes, for the trees of the harness too."""
    own, other = getattr(tn.tree_util, name), getattr(jax.tree_util, name)

    def register(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings(), NoError():
            other(*args, **kwargs)
        return own(*args, **kwargs)

    return register


class NoError:
    """A block in which every error ends without a word."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return not isinstance(error, KeyboardInterrupt)


PRNG = {name: each for name, each in vars(prng).items() if name != "PRNGKeyArray"}
INTERNALS = {
    "jax._src": {
        **dict.fromkeys(("api", "custom_derivatives", "custom_batching", "shard_map"), JAX),
        **{name: getattr(JAX, name) for name in ("tree_util", "ad_checkpoint")},
        "debugging": JAX.debug,
    },
    "jax._src.lax": {"linalg": JAX.lax.linalg},
    "jax._src.random": {"prng": types.SimpleNamespace(**PRNG, PRNGKeyArray=tn.random.Key)},
}
"""Private modules of JAX whose names are tenferro's, by the package they are in."""


def imported(
    name: str, globals_: Any = None, locals_: Any = None, names: Any = (), level: int = 0
) -> Any:
    """`__import__` of a file of tests."""
    if INTERNALS.get(name, {}).keys() & set(names or ()):
        found = builtins.__import__(name, globals_, locals_, names, level)
        return types.SimpleNamespace(**{**vars(found), **INTERNALS[name]})
    if name == "jax._src.shard_map":
        return JAX
    if name == "tenferro.errors" and names:  # what the port tool puts in the place of JAX's
        return types.SimpleNamespace(**{**vars(JAX.errors), **vars(tn.errors)})
    if name.partition(".")[0] != "tenferro":
        return builtins.__import__(name, globals_, locals_, names, level)
    module: Any = JAX
    for part in name.split(".")[1:]:
        module = getattr(module, part)
    return module if names else JAX


def load(path: Path) -> types.ModuleType:
    """A file of JAX's tests, rewritten."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # dataclasses look there
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}
    text = Porter().port(path.read_text(encoding="utf-8")).text
    LOADING[0] = True
    exec(compile(text, str(path), "exec"), module.__dict__)
    LOADING[0] = False
    return module


def tests_of(module: types.ModuleType, each: int) -> Iterator[unittest.TestCase]:
    """The tests of a file, at most `each` of those that one function makes."""
    groups: dict[tuple[str, str], list[unittest.TestCase]] = {}
    for test in flat(unittest.defaultTestLoader.loadTestsFromModule(module)):
        name = test._testMethodName
        name = re.sub(r"_(u?int|float|complex|bool|bfloat)\w*$", "", name)
        name = re.sub(r"\d+( \(.*\))?$|(?<=[a-z])\d+(?=_)", "", name)
        groups.setdefault((type(test).__name__, name), []).append(test)
    for found in groups.values():
        count = min(each, len(found))
        yield from (found[at * len(found) // count] for at in range(count))


def flat(suite: Any) -> Iterator[unittest.TestCase]:
    """The tests of a suite of suites."""
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flat(each)
        else:
            yield each
