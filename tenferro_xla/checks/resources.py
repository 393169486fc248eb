"""Memory, caches on disk, and calls."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

import tenferro as tn
from tenferro.errors import TenferroError
from tenferro_xla.checks.checking import (
    Checking,
    Function,
    apart,
    compared,
    in_short,
    rated,
    seconds_of,
)
from tenferro_xla.checks.watchdog import CANNOT

__all__ = ["caches", "calls", "memory"]


# `memory`: predicted against used, limits, and more than there is.


def memory(check: Checking) -> None:
    """What programs need, as predicted, by XLA's word, and as used; limits; and no memory left."""
    n, depth = (128, 8) if check.small else (4096, 24)
    x = (np.random.default_rng(0).normal(size=(n, n)) / n**0.5).astype(np.float32)
    plain, again = tn.grad(_deep(depth, _same)), tn.grad(_deep(depth, tn.checkpoint))
    programs: list[tuple[str, Callable[..., Any], Any]] = [
        ("products", lambda x: x @ x @ tn.sin(x), x[: n // 2, : n // 2]),
        ("gradient, with checkpoints", again, x),
        ("gradient", plain, x),
    ]
    for name, function, array in check.cases(programs, lambda each: each[0]):
        with check.attempt(name):  # from the least to the most, since only a new peak is known
            _need(check, name, function, array)
    more: dict[str, Callable[[], None]] = {
        "a gradient under a limit": lambda: _limited(check, plain, x),
        "memory_limit='device'": lambda: _within_the_device(check, x),
        "slices": lambda: _sliced(check),
        **{
            name: partial(_refused, check, name, function)
            for name, function in _too_much(check).items()
        },
    }
    for name in check.cases(more):
        with check.attempt(name):
            more[name]()


def _same(function: Function) -> Function:
    return function


def _deep(depth: int, wrap: Callable[[Function], Function]) -> Function:
    """A sum after many products, each of which `wrap` gets."""

    def total(x: Any) -> Any:
        y = x
        for _ in range(depth):
            y = wrap(lambda y: tn.sin(tn.sin(y @ x)))(y)
        return tn.sum(y)

    return total


def _need(check: Checking, name: str, function: Function, array: Any) -> None:
    program = tn.make_program(function, tn.TensorSpec(array.shape, str(array.dtype)))
    report = check.executor.memory(program.exec_program)
    by_xla = check.executor.lower(program).compile().memory()
    tensor = check.put(array)
    before = _peak(check)
    tn.block_until_ready(check.jit(function)(tensor))
    after = _peak(check)
    used = "not known" if after is None or after == before else after
    check.note(
        name,
        predicted=report.peak,
        by_xla=by_xla.temporaries + by_xla.outputs,
        factor=report.peak / max(by_xla.temporaries + by_xla.outputs, 1),
        peak_of_the_device=used,
    )


def _peak(check: Checking) -> int | None:
    return (check.device.memory_stats() or {}).get("peak_bytes_in_use")


def _limited(check: Checking, gradient: Function, x: Any) -> None:
    """A gradient in a third of its memory: values are computed again, or it is refused."""
    free = check.jit(gradient)
    for matrices in (8, 16, 32):
        limited = check.jit(gradient, memory_limit=matrices * x.nbytes)
        try:
            found = limited(x)
        except TenferroError as error:
            check.note(f"a limit of {matrices} matrices", refused=in_short(error))
            continue
        far = apart(found, free(x))
        slower = seconds_of(partial(limited, x), repeats=3) / seconds_of(lambda: free(x), repeats=3)
        outcome = rated(far < 1e-3)
        check.note(f"a limit of {matrices} matrices", outcome, apart=far, slower=slower)
        return


def _within_the_device(check: Checking, x: Any) -> None:
    """A program that needs less than the device has is what it is without a limit."""
    within = check.jit(lambda x: tn.sin(x @ x), memory_limit="device")
    far = apart(within(x), check.jit(lambda x: tn.sin(x @ x))(x))
    check.note("memory_limit='device'", rated(far < 1e-5), apart=far)


def _sliced(check: Checking) -> None:
    """A network, whole and slice by slice."""
    m = 20 if check.small else 128
    rng = np.random.default_rng(0)
    shapes = ((10 * m, m), (m, m, m), (m, m, 10 * m))
    operands = [check.put(rng.normal(size=shape)) for shape in shapes]
    text = "ai,ikm,kmb->ab"
    whole = check.jit(lambda *a: tn.einsum(text, *a))
    sliced = check.jit(lambda *a: tn.einsum(text, *a, slices="i"))
    far = apart(sliced(*operands), whole(*operands))
    own, once = (seconds_of(partial(f, *operands), repeats=3) for f in (sliced, whole))
    outcome = rated(far < 1e-10)
    check.note(
        f"{m} slices",
        outcome,
        apart=far,
        ms=own * 1e3,
        us_a_slice=1e6 * own / m,
        whole_ms=once * 1e3,
    )


def _too_much(check: Checking) -> dict[str, Function]:
    """Functions whose values are larger than any memory; on a device with its own, just larger."""
    found = {"a value of 2^66 bytes": lambda: tn.sum(tn.sin(tn.zeros((2**33, 2**30))))}
    limit = (check.device.memory_stats() or {}).get("bytes_limit")
    if limit is not None and not check.on_host:
        single, several = int(1.2 * limit) // 8, int(0.45 * limit) // 8
        found["one value too large"] = lambda: tn.sort(tn.full((single,), 1.0) + tn.arange(single))
        found["several values too large"] = lambda: tn.stack(
            [tn.sort(tn.sin(tn.arange(several) * float(each))) for each in (1, 2, 3)]
        )
    return found


def _refused(check: Checking, name: str, function: Function) -> None:
    """What is too large ends in an error of tenferro, and the process goes on."""
    try:
        tn.block_until_ready(check.jit(function)())
        right, said = False, "it fits"
    except TenferroError as error:
        right, said = True, in_short(error)
    after = apart(check.jit(lambda x: x + 1)(np.ones(3)), np.full(3, 2.0))
    check.note(name, rated(right and after == 0), said=said, afterwards=after)


# `caches`: what one process compiled, another one reads.

_PROGRAM = """
import sys, time
import numpy as np
import tenferro as tn
import tenferro_xla
from tenferro.errors import DeviceError
try:
    executor = tenferro_xla.XlaExecutor(sys.argv[2])
except DeviceError as error:
    sys.stderr.write(f"{error}\\n")
    sys.exit(int(sys.argv[3]))
executor.get(executor.put(np.ones(2)))
tn.cache(sys.argv[1])
start = time.perf_counter()
loss = lambda a: tn.sum(tn.linalg.solve(tn.tanh(a @ a) + 9 * tn.eye(8), a))
f = tn.jit(tn.grad(loss), executor=executor)
total = float(tn.sum(f(np.eye(8))))
print(time.perf_counter() - start, total)
"""


def caches(check: Checking) -> None:
    """A cache in a folder, which two processes use one after the other; this one has no device."""
    with tempfile.TemporaryDirectory() as folder, check.attempt("cache on disk"):
        place = Path(folder, "cache")
        command = [sys.executable, "-c", _PROGRAM, str(place), check.asked, str(CANNOT)]
        times, totals, files = [], [], []
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode == CANNOT:
                sys.stderr.write(done.stderr)
                sys.exit(CANNOT)
            if done.returncode:
                raise RuntimeError(done.stderr[-300:])
            seconds, total = map(float, done.stdout.split()[-2:])
            times.append(seconds)
            totals.append(total)
            files.append(sum(path.is_file() for path in place.rglob("*")))
        read = files[0] > 0 and files[1] == files[0] and totals[0] == totals[1]
        check.note(
            "cache on disk",
            rated(read),
            first_s=times[0],
            second_process_s=times[1],
            files=files,
        )


# `calls`: what a call costs beside what it computes.


def calls(check: Checking) -> None:
    """Calls with arguments of each kind against those of JAX; threads, donation, uploads."""
    x = np.arange(8.0)
    ours, theirs = check.jit(_line), jax.jit(_line)
    tree, tree_of_jax = check.jit(_lines), jax.jit(_lines)
    tensor, array = check.put(x), check.put_jax(x)
    tensors, arrays = [tensor] * 10, [array] * 10
    pairs: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
        ("a call on the device", lambda: ours(tensor), lambda: theirs(array)),
        ("a call from NumPy", lambda: ours(x), lambda: theirs(x)),
        ("a call with 10 arrays", lambda: tree(*tensors), lambda: tree_of_jax(*arrays)),
        ("x + x without jit", lambda: tensor + tensor, lambda: array + array),
    ]
    for name, own, other in check.cases(pairs, lambda pair: pair[0]):
        with check.attempt(name):
            us, jax_us = compared(own, other)
            check.note(name, us=us * 1e6, jax_us=jax_us * 1e6, ratio=us / jax_us)
    more = {
        "upload": _upload,
        "the call returns before the result is there": _returns,
        "four threads": _threads,
        "donation": _donation,
    }
    for name in check.cases(more):
        with check.attempt(name):
            more[name](check, name)


def _upload(check: Checking, name: str) -> None:
    """What a large array of NumPy costs."""
    big = np.ones(2**20 if check.small else 2**27)
    first, first_of_jax = check.jit(lambda x: x[0]), jax.jit(lambda x: x[0])
    upload = seconds_of(lambda: first(big), 0.01, 3)
    of_jax = seconds_of(lambda: first_of_jax(check.put_jax(big)), 0.01, 3)
    rate = big.nbytes / upload / 1e9
    check.note(name, gb=big.nbytes / 1e9, gb_a_second=rate, s=upload, jax_s=of_jax)


def _returns(check: Checking, name: str) -> None:
    """A call of a long program returns when it has started it."""
    n = 512 if check.small else 8192
    square = check.put(np.ones((n, n)) / n)
    long = check.jit(lambda a: a @ a @ a @ a)
    tn.block_until_ready(long(square))
    start = time.perf_counter()
    result = long(square)
    returned = time.perf_counter() - start
    tn.block_until_ready(result)
    whole = time.perf_counter() - start
    blocks = not check.on_host and returned > 0.3 * whole
    check.note(name, rated(True, blocks), returned_ms=returned * 1e3, ms=whole * 1e3)


def _threads(check: Checking, name: str) -> None:
    """Threads that call one function."""
    line = check.jit(_line)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: float(np.asarray(line(np.full(8, i)))[0]), range(200)))
    check.note(name, rated(found == [2.0 * i + 1 for i in range(200)]))


def _donation(check: Checking, name: str) -> None:
    """An argument whose memory the result may have."""
    donated = check.put(np.ones(2**16))
    result = check.jit(lambda x: x + 1, donate_argnums=0)(donated)
    check.note(name, rated(apart(result, np.full(2**16, 2.0)) == 0))


def _line(x: Any) -> Any:
    return x * 2 + 1


def _lines(*arrays: Any) -> list[Any]:
    return [array + 1 for array in arrays]
