"""Tensor networks to time: instances read from JSON, and each library's way to contract them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import opt_einsum

import tenferro as tn
import tenferro_xla as txla

INSTANCES = Path(__file__).resolve().parents[4] / "shared" / "einsum_instances"
Array = np.ndarray[Any, Any]
FEW_CALLS = 0.5
"""Seconds of a call from which results are not worth warming up for."""


@dataclass(frozen=True)
class Network:
    """One instance on one of its paths."""

    name: str
    expression: str
    shapes: tuple[tuple[int, ...], ...]
    kind: str
    path: tuple[tuple[int, ...], ...]
    log10_flops: float

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Network:
        """The network with these fields, as JSON gives them back."""
        shapes, path = (tuple(map(tuple, fields[name])) for name in ("shapes", "path"))
        return cls(**{**fields, "shapes": shapes, "path": path})

    def operands(self, dtype: str) -> list[Array]:
        """Random numbers, of a variance that keeps the result from overflowing."""
        rng = np.random.default_rng(0)
        return [_random(rng, shape, np.dtype(dtype)) for shape in self.shapes]

    def seconds(self, dtype: str) -> float:
        """A guess of the time of one call."""
        parts = 4 if np.dtype(dtype).kind == "c" else 1
        return float(10**self.log10_flops * parts / 3e10)


def read(file: Path) -> list[Network]:
    """The networks of a file, one for each path that is another."""
    found = json.loads(file.read_text())
    networks: list[Network] = []
    for kind in sorted(found["paths"]):  # "opt_flops", "opt_size"
        plan = found["paths"][kind]
        path = tuple(tuple(step) for step in plan["path"])
        if all(path != other.path for other in networks):
            networks.append(
                Network(
                    found["name"],
                    found["format_string"],
                    tuple(tuple(shape) for shape in found["shapes"]),
                    kind,
                    path,
                    plan["log10_flops"],
                )
            )
    return networks


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    scale = max(math.prod(shape), 1) ** -0.25  # each label's sum is shared by two operands
    numbers = rng.normal(size=shape) * scale
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.normal(size=shape) * scale
    return np.asarray(numbers, dtype)


@dataclass
class Prepared:
    """A contraction ready to be called, and what it took to get there.

    Attributes:
        call: runs it and waits.
        staging: seconds to trace and lower.
        compiling: seconds XLA took.
        temporaries: bytes that XLA sets aside.
    """

    call: Callable[[], Any]
    staging: float = math.nan
    compiling: float = math.nan
    temporaries: float = math.nan


def tenferro(
    network: Network,
    operands: Sequence[Array],
    gradient: bool = False,
    executor: txla.XlaExecutor | None = None,
) -> Prepared:
    """The planned network, compiled by the executor; by default for the CPU.

    It is called as users call it, a few times before it is timed: then large results are written
    where earlier ones were.
    """

    def contract(*given: Any) -> Any:
        return tn.einsum(network.expression, *given, optimize=network.path)

    def total(given: Sequence[Any]) -> Any:
        return tn.sum(tn.real(contract(*given)))

    start = time.perf_counter()
    wanted = tn.value_and_grad(total) if gradient else lambda given: contract(*given)

    def result(*given: Any) -> Any:
        return wanted(list(given))

    program = tn.make_program(result, *operands)
    executor = executor or txla.XlaExecutor("cpu")
    lowered = executor.lower(program)
    staged = time.perf_counter()
    compiled = lowered.compile()
    done = time.perf_counter()
    run = tn.jit(result, executor=executor)  # the same executable, from the cache
    tensors = [tn.asarray(operand, device=executor) for operand in operands]

    def call() -> Any:
        return jax.block_until_ready(run(*tensors))

    before = time.perf_counter()
    call()
    if time.perf_counter() - before < FEW_CALLS:
        for _ in range(4):
            call()
    return Prepared(
        call,
        staged - start,
        done - staged,
        compiled.memory().temporaries,
    )


def jax_jit(network: Network, operands: Sequence[Array], gradient: bool = False) -> Prepared:
    """`jax.jit(jnp.einsum)` on the same path, in 64 bits."""
    buffers = [jnp.asarray(operand) for operand in operands]

    def contract(*given: Any) -> Any:
        return jnp.einsum(network.expression, *given, optimize=list(network.path))

    def total(given: Sequence[Any]) -> Any:
        return jnp.sum(jnp.real(contract(*given)))

    wanted: Any = (lambda *given: jax.value_and_grad(total)(list(given))) if gradient else contract
    start = time.perf_counter()
    lowered = jax.jit(wanted).lower(*buffers)
    staged = time.perf_counter()
    compiled = lowered.compile()
    done = time.perf_counter()
    memory = compiled.memory_analysis()
    return Prepared(
        lambda: jax.block_until_ready(compiled(*buffers)),
        staged - start,
        done - staged,
        math.nan if memory is None else memory.temp_size_in_bytes,
    )


def jnp_einsum(network: Network, operands: Sequence[Array]) -> Prepared:
    """`jnp.einsum` called directly; it compiles each call as a whole, the first time."""
    buffers = [jnp.asarray(operand) for operand in operands]
    return Prepared(
        lambda: jax.block_until_ready(
            jnp.einsum(network.expression, *buffers, optimize=list(network.path))
        )
    )


def torch(network: Network, operands: Sequence[Array], platform: str = "cpu") -> Prepared | None:
    """opt_einsum with PyTorch on the same path, if that is installed and has the platform."""
    try:
        import torch as library  # optional, and a second to import
    except ImportError:
        return None
    tensors = [library.from_numpy(operand) for operand in operands]
    if platform == "cpu":
        return Prepared(lambda: _pairwise(network, tensors, "torch"))
    if platform != "gpu" or not library.cuda.is_available():
        return None
    tensors = [tensor.cuda() for tensor in tensors]

    def call() -> Any:
        result = _pairwise(network, tensors, "torch")
        library.cuda.synchronize()
        return result

    return Prepared(call)


def numpy(network: Network, operands: Sequence[Array]) -> Prepared:
    """opt_einsum with NumPy on the same path; np.einsum itself knows 52 labels only."""
    return Prepared(lambda: _pairwise(network, operands, "numpy"))


def _pairwise(network: Network, operands: Sequence[Any], backend: str) -> Any:
    return opt_einsum.contract(
        network.expression, *operands, optimize=list(network.path), backend=backend
    )
