"""Executables on disk. They are code: the folder belongs to the user alone.

They are written and read with `jax.experimental.serialize_executable`, and not by the persistent
cache of JAX, which belongs to the process: what the user compiles with JAX is not affected.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from tenferro.compiler import OptimizerOptions, Target
from tenferro.ir import ExecProgram
from tenferro.ops.extension import Extension
from tenferro.runtime import builtin_package
from tenferro.serialization import (
    CacheFolder,
    Families,
    cached_program,
    disk_cache,
    key_of,
    pack,
    read_or_make,
    source_digest,
    unpack,
)
from tenferro_xla.placement import OneDevice
from tenferro_xla.platforms import OPS
from tenferro_xla.target import XlaTarget

SOURCES = [Path(__file__).parents[2] / name for name in ("tenferro_xla", "tenferro")]
"""The packages whose code makes executables."""


def cached_passes(
    program: ExecProgram,
    goal: Target,
    options: OptimizerOptions,
    make: Callable[[], ExecProgram],
) -> ExecProgram:
    """What the passes of a target make of a program: read from disk, or made now and kept."""
    if not _is_own(program):
        return make()
    return cached_program((_text(goal), options), program, make, Families(ops=OPS))


def cached_executable(
    program: ExecProgram,
    target: XlaTarget,
    donated: tuple[int, ...],
    options: OptimizerOptions,
    make: Callable[[], jax.stages.Compiled],
) -> tuple[jax.stages.Compiled, bool]:
    """The executable of a program, and whether it was read from disk rather than made now."""
    disk, placement = disk_cache(), target.placement
    if disk is None or not disk.executables or not isinstance(placement, OneDevice):
        return make(), False
    if not program.portable or not _is_own(program):
        return make(), False

    def entry() -> tuple[CacheFolder, str]:
        depends = _depends(target, placement.device)
        name = key_of(program.digest, donated, options, depends)
        return disk.folder("executables", _version(), trusted=True), name

    def read(data: bytes) -> jax.stages.Compiled:
        return _loaded(data, program, placement.device)

    return read_or_make("an executable", entry, read, make, _written)


def _written(made: jax.stages.Compiled) -> bytes | None:
    """The bytes of an executable, if XLA can write it.

    It cannot where the platform does not support it, and where temporary values lie in several
    blocks.
    """
    try:
        data, _, _ = serialize(made)
    except (NotImplementedError, ValueError, jax.errors.JaxRuntimeError):
        return None
    return pack({"kind": "executable", "bytes": len(data), "lapack": _calls_lapack(made)}, [data])


def _loaded(data: bytes, program: ExecProgram, device: jax.Device) -> jax.stages.Compiled:
    header, body = unpack(data)  # checks the sum before anything is run
    if header["lapack"]:
        _find_lapack()
    inputs = jax.tree.structure(((0,) * len(program.input_slots), {}))
    outputs = jax.tree.structure((0,) * len(program.output_slots))
    with jax.enable_x64(True):
        loaded: jax.stages.Compiled = deserialize_and_load(
            bytes(body[: header["bytes"]]), inputs, outputs, execution_devices=[device]
        )
    return loaded


def _calls_lapack(executable: jax.stages.Compiled) -> bool:
    return 'custom_call_target="lapack_' in (executable.as_text() or "")


@functools.cache
def _find_lapack() -> None:
    """Have JAX look for LAPACK, without which an executable that calls it ends the process.

    JAX does so when it lowers a program, and one that is read is not lowered.
    """
    matrix = np.ones((1, 1), np.float32)
    jax.jit(jax.lax.linalg.cholesky).trace(matrix).lower(lowering_platforms=("cpu",))


def _is_own(program: ExecProgram) -> bool:
    """Whether all ops are of tenferro, since nothing tells when a lowering of others changes."""
    ops = (op for part in program.walk() for op in part.ops_of(Extension))
    packages = ((op, builtin_package(op.family_id)) for op in ops)
    return all(package is not None and type(op.op) in package.ops for op, package in packages)


def _depends(target: XlaTarget, device: jax.Device) -> str:
    """What an executable depends on in addition to the program and its options, as text.

    What the platform wants of XLA follows from the program and the versions.
    """
    lowering = replace(target.lowering, extensions=None)  # type: ignore[arg-type]  # for its text
    asked = sorted(target.compiler_options.items())
    where = (device.platform, device.device_kind, device.id)
    return key_of(where, lowering, _text(target.optimized_for), asked)


def _text(goal: Target) -> str:
    return str(replace(goal, families=()))


@functools.cache
def _version() -> str:
    """The versions of all that makes executables, and the machine that they are for."""
    ours = map(source_digest, SOURCES)
    flags = [os.environ.get(name, "") for name in ("XLA_FLAGS", "JAX_PLATFORMS")]
    return key_of(jax.__version__, version("jaxlib"), *ours, *flags, *_machine())[:16]


def _machine() -> tuple[str, ...]:
    """The kind of processor and its features: code for another one may not run."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine(), platform.processor()
    names = ("model name", "flags", "Features", "CPU part")
    return tuple(sorted({line for line in text.splitlines() if line.startswith(names)}))
