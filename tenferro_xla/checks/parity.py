"""Every public function, on the device and on the NumPy executor."""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.errors import TenferroError
from tenferro.ir import ExecOp, ExecProgram, dtype_kind, evaluate
from tenferro_xla.checks.checking import Checking, Function, apart, epsilon, in_short
from tenferro_xla.checks.examples import EXAMPLES
from tenferro_xla.checks.report import Outcome

__all__ = ["parity"]

DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int32")

CALLS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("m", lambda f, m: f(m)),
    ("mm", lambda f, m, n: f(m, n)),
    ("mmm", lambda f, m, n, o: f(m, n, o)),
    ("mi", lambda f, m, i: f(m, i)),
    ("i", lambda f, i: f(i)),
    ("ii", lambda f, i, j: f(i, j)),
    ("v", lambda f, v: f(v)),
    ("vv", lambda f, v, w: f(v, w)),
    ("vi", lambda f, v, i: f(v, i)),
    ("iv", lambda f, i, v: f(i, v)),
    ("mmmm", lambda f, *m: f(*m)),
    ("vvv", lambda f, *v: f(*v)),
    ("m", lambda f, m: f(m, 1)),
    ("mm", lambda f, m, n: f(m, n, 1)),
    ("m", lambda f, m: f(m, 0, 1)),
    ("m", lambda f, m: f(m, (1, 0))),
    ("m", lambda f, m: f(m, (2, 8))),
    ("m", lambda f, m: f(m, (1, 1), (3, 3))),
    ("mm", lambda f, m, n: f([m, n])),
    ("mm", lambda f, m, n: f([m, n], 0)),
    ("m", lambda f, m: f(m > 0, m, m + 1)),
)
"""Arguments to try: matrices `m`, vectors `v`, vectors of small integers `i`; and the call."""

RANDOM_CALLS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("k", lambda f, k: f(_key(k), shape=(4,))),
    ("vk", lambda f, v, k: f(_key(k), v + 1)),
    ("vk", lambda f, v, k: f(_key(k), v + 1, v + 2)),
)
"""The same of functions of `tn.random`, whose first argument is a key: its words are `k`.

Parameters are above 1: some draws are so large below that rounding decides their sines.
"""

NOT_CALLED = {
    # They move arrays, describe, read, write or set something.
    *("array_repr", "array_str", "block_until_ready", "cache", "conv_dimension_numbers"),
    *("default_backend", "device_count", "device_get", "device_put", "devices", "disable_jit"),
    *("dumps", "einsum_path", "einsum_plan", "empty", "empty_like", "enable_x64", "eval_shape"),
    *("executor_named", "finfo", "from_dlpack", "frombuffer", "fromiter", "fromstring"),
    *("gauge_report", "get_printoptions", "iinfo", "load", "loads", "local_device_count"),
    *("local_devices", "log_compiles"),
    *("printoptions", "promote_types", "result_type", "save", "set_printoptions", "ad_rules"),
    *("broadcast_shapes", "register_runtime", "with_sharding_constraint"),
    # They take functions or programs; gradients of all functions are among the cases.
    *("call", "custom_linear_solve", "custom_root", "custom_vjp", "derivative", "fromfunction"),
    *("grad", "grad_optional", "hvp", "jacfwd", "jacobian", "jacrev", "jet", "jit", "jvp"),
    *("linear_transpose", "linearize", "make_program", "pure_callback", "value_and_grad"),
    *("vectorize", "vjp", "vmap"),
    # They are ops of sizes that are not known; or of others, which have functions of their own.
    *("assume_size", "dynamic_broadcast_in_dim", "gather_dynamic_slice_sizes", "trim_zeros"),
    *("scatter_reduce", "special", "threefry2x32"),
    # They describe, call or mark something, or take functions.
    *("clone", "closure_convert", "composite", "custom_gradient", "effects_barrier", "key_impl"),
    *("make_jaxpr", "make_mesh", "named_call", "padtype_to_pads", "platform_dependent"),
    *("scatter_apply", "shard_map", "smap", "typeof"),
    # They ask for a named axis.
    *("all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "ppermute"),
    *("pshuffle", "psum_scatter", "pswapaxes", "pvary"),
    # They are made of functions that have cases, and take a size, a mode or a pair of arguments.
    *("bernoulli", "bessel_jn", "conv_general_dilated_local"),
    *("conv_general_dilated_patches", "dft", "eigh_tridiagonal", "funm", "hadamard", "helmert"),
    *("hilbert", "index_take", "invhilbert", "invpascal", "leslie", "pascal"),
    *("ragged_dot_general", "rng_bit_generator", "segment_max", "segment_min"),
    *("segment_prod", "segment_sum", "solve_banded", "sph_harm_y"),
}
"""Functions that compute nothing of their own, or nothing that is defined."""

FREE = ("eig", "svd", "qr", "schur", "hessenberg", "lobpcg", "null_space", "orth", "householder")
"""Parts of the names of functions whose results are unique up to signs, phases or order."""

_HARD = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-8, -2.5, 3e4)


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its inputs, whether its results are unique, and by what rounding is multiplied."""

    name: str
    program: ExecProgram
    inputs: tuple[Any, ...]
    unique: bool
    allowance: float = 1.0


def parity(check: Checking) -> None:
    """Values of all public functions in six dtypes, and the gradients of the smooth ones."""
    found: Counter[str] = Counter()
    reached: set[type] = set()
    lock = threading.Lock()

    def one(case: Case) -> None:
        state = "left out" if check.left() <= 0 else _compare(check, case)
        with lock:
            found[state] += 1

    names = subjects()
    random.Random(0).shuffle(names)  # where time is over, what was checked is a sample
    if check.small:
        names = names[::12]
    workers = min(12, os.cpu_count() or 1)
    without: list[str] = []
    with ThreadPoolExecutor(workers) as pool:
        pending: list[Future[None]] = []
        for name, function in names:
            if check.left() <= 0:
                break
            before = len(pending)
            for case in cases_of(name, function):
                reached |= {type(op) for part in case.program.walk() for op in part.ops()}
                pending.append(pool.submit(one, case))
            if len(pending) == before:
                without.append(name)
            found["functions"] += 1
        for future in pending:
            future.result()
    if without:
        check.note("functions with no case", "left out", names=without)
    whole = not found["left out"] and found["functions"] == len(names)
    outcome: Outcome = "fine" if whole else "left out"
    unreached = sorted(op.__name__ for op in {*_leaves(ExecOp)} - reached)
    counts = {**found, "no case": len(without)}
    check.note("total", outcome, **counts, ops=len(reached), ops_in_no_program=unreached)


def subjects() -> list[tuple[str, Function]]:
    """What is checked, by name: the public functions, and examples of calls."""
    functions = dict(public_functions())
    return [*(functions | {name: call for name, (_, call) in EXAMPLES.items()}).items()]


def public_functions() -> Iterator[tuple[str, Function]]:
    """The functions of tenferro and of its packages of functions, by name; each once.

    >>> names = {*dict(public_functions())}
    >>> {"sin", "linalg.det", "nn.relu6", "random.normal", "scipy.stats.norm.pdf"} <= names
    True
    """
    modules = [tn, tn.linalg, tn.fft, tn.nn, tn.scipy.special, tn.scipy.linalg, tn.scipy.stats]
    homes: list[tuple[str, Any]] = [
        (f"{module.__name__}.".removeprefix("tenferro.").lstrip("."), module)
        for module in (*modules, tn.lax, tn.random)
    ]
    stats = tn.scipy.stats
    homes += [
        (f"scipy.stats.{name}.", getattr(stats, name))
        for name in _names(stats)
        if isinstance(getattr(stats, name), stats.distribution.Distribution)
    ]
    found: dict[int, Function] = {}
    for prefix, home in homes:
        for name in _names(home):
            function = getattr(home, name)
            if id(function) not in found and callable(function) and not inspect.isclass(function):
                found[id(function)] = function  # as long as it is there, its number is its own
                yield f"{prefix}{name}", function


def _names(home: Any) -> list[str]:
    left_out = NOT_CALLED | {"fft"} if home is tn.lax else NOT_CALLED  # `tn.fft` has its functions
    listed = getattr(home, "__all__", None) or dir(home)
    return sorted(name for name in listed if not name.startswith("_") and name not in left_out)


def cases_of(name: str, function: Function) -> Iterator[Case]:
    """Programs of an example, or of a function with the first arguments that it takes.

    There are none if it takes none of them.
    """
    calls, unique = CALLS, not any(part in name for part in FREE)
    if name in EXAMPLES:
        letters, example = EXAMPLES[name]
        calls, unique = ((letters, lambda _, *arguments: example(*arguments)),), True
    elif name.startswith("random."):
        calls, unique = RANDOM_CALLS, True
    for letters, call in calls:
        dtypes: tuple[str, ...] = DTYPES[:2] if "k" in letters else DTYPES
        if not {*letters} & {*"mv"}:
            dtypes = DTYPES[:1]  # integers and keys have one dtype
        made = [_case(name, function, letters, call, dtype, unique) for dtype in dtypes]
        cases = [case for case in made if case is not None]
        if not cases:
            continue
        yield from cases
        yield from _gradients(name, function, letters, call, unique)
        if letters in ("v", "m", "vv", "mm"):
            hard = _case(f"hard values of {name}", function, letters, call, "float64", unique)
            if hard is not None and hard.unique:
                yield from _at_hard_values(hard)
        return


def _call(function: Function, *arguments: Any) -> Any:
    return function(*arguments)


def _gradients(
    name: str, function: Function, letters: str, call: Callable[..., Any], unique: bool
) -> Iterator[Case]:
    """The programs of the gradients by the first argument, if that is not an integer."""
    if letters[0] not in "mv":
        return
    for dtype in ("float64", "complex128"):
        gradient = _gradient(function, call)
        case = _case(f"gradient of {name}", gradient, letters, _call, dtype, unique)
        if case is not None:
            yield case


def _gradient(function: Function, call: Callable[..., Any]) -> Function:
    def loss(*arguments: Any) -> Any:
        leaves = tn.tree.leaves(call(function, *arguments))
        smooth = [leaf for leaf in leaves if dtype_kind(np.dtype(leaf.dtype)) in "fc"]
        return sum(tn.sum(tn.sin(tn.real(leaf))) for leaf in smooth)

    return tn.grad(loss)


def _case(
    name: str, function: Function, letters: str, call: Callable[..., Any], dtype: str, unique: bool
) -> Case | None:
    """The program of a function for arguments of a kind; None if it does not take them."""
    rng = np.random.default_rng(len(letters))
    inputs = tuple(_array(letter, dtype, rng) for letter in letters)
    specs = [tn.TensorSpec(each.shape, str(each.dtype)) for each in inputs]
    with contextlib.suppress(Exception):
        program = tn.make_program(lambda *arguments: call(function, *arguments), *specs)
        if program.exec_program.output_metas:
            return Case(f"{name} {dtype}", program.exec_program, inputs, unique)
    return None


def _key(words: Any) -> Any:
    return tn.random.wrap_key_data(words)


def _array(letter: str, dtype: str, rng: np.random.Generator) -> Any:
    """An argument: a matrix that is well conditioned, a vector, small integers, or a key."""
    if letter == "k":
        return np.array([17, 29], dtype="uint32")
    if letter == "i":
        return rng.integers(0, 4, 4)
    if dtype.startswith("int"):
        return rng.integers(1, 9, (4, 4) if letter == "m" else 4).astype(dtype)
    values = rng.uniform(0.1, 0.5, (4, 4)) + np.eye(4)
    if dtype.startswith("complex"):
        values = values + 0.2j * rng.uniform(0.1, 0.5, (4, 4))
    return (values if letter == "m" else values[0]).astype(dtype)


def _at_hard_values(case: Case) -> Iterator[Case]:
    """An elementwise program at zeros of both signs, infinities, NaN, large and small numbers."""
    if not all(op.pointwise for part in case.program.walk() for op in part.ops()):
        return
    rng = np.random.default_rng(0)
    inputs = tuple(rng.choice(_HARD, each.shape) for each in case.inputs)
    yield Case(case.name, case.program, inputs, True, allowance=10.0)


def _compare(check: Checking, case: Case) -> str:
    """Compare the results; what was found, for the totals."""
    try:
        with np.errstate(all="ignore"):
            expected = [np.asarray(each) for each in evaluate(case.program, case.inputs)]
    except Exception:
        expected = None
    try:
        results = check.executor.compile_exec(case.program).run_host(*case.inputs)
        found = [np.asarray(each) for each in results]
    except Exception as error:
        if expected is None:
            return "refused by both"
        typed = isinstance(error, TenferroError)
        check.note(case.name, "left out" if typed else "wrong", refused=in_short(error))
        return "refused"
    if expected is None:
        return "refused by NumPy"
    if not case.unique:
        return "not unique"
    scale = max(map(_largest, expected), default=0.0)  # a result may be zero but for rounding
    far = max((apart(f, e, least=scale) for f, e in zip(found, expected, strict=True)), default=0.0)
    if far <= case.allowance * _limit(case.program) and all(map(_same_type, found, expected)):
        return "equal"
    shown = {"found": str(found[0].ravel()[:4]), "numpy": str(expected[0].ravel()[:4])}
    check.note(case.name, "wrong", apart=far, **shown)
    return "apart"


def _same_type(one: Any, other: Any) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape)


def _largest(values: Any) -> float:
    """The largest magnitude among the numbers that are finite."""
    magnitudes = np.abs(values.astype(np.complex128))
    return float(np.max(magnitudes, initial=0.0, where=np.isfinite(magnitudes)))


def _limit(program: ExecProgram) -> float:
    """The difference that rounding explains, by the least exact dtype on the way."""
    metas = [meta for part in program.walk() for meta in part.slot_metas() if meta is not None]
    return 5e3 * max((epsilon(str(meta.dtype)) for meta in metas), default=0.0)


def _leaves(kind: type) -> Iterator[type]:
    """The ops of tenferro below a class: those that have no classes below them."""
    child: type
    for child in kind.__subclasses__():
        yield from _leaves(child)
    if not kind.__subclasses__() and kind.__module__.startswith("tenferro."):
        yield kind
