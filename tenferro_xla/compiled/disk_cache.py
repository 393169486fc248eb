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
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

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
    for name in header["lapack"]:
        _find_lapack(name)
    inputs = jax.tree.structure(((0,) * len(program.input_slots), {}))
    outputs = jax.tree.structure((0,) * len(program.output_slots))
    with jax.enable_x64(True):
        loaded: jax.stages.Compiled = deserialize_and_load(
            bytes(body[: header["bytes"]]), inputs, outputs, execution_devices=[device]
        )
    return loaded


LAPACK: dict[str, tuple[str, Callable[..., Any]]] = {
    "cpu": ("lapack_", jax.lax.linalg.cholesky),
    "cuda": ("cuhybrid_", jax.lax.linalg.eig),
    "rocm": ("hiphybrid_", jax.lax.linalg.eig),
}
"""By platform, how the names of calls start that run LAPACK on the host, and a function that makes
one."""


def _calls_lapack(executable: jax.stages.Compiled) -> list[str]:
    """The platforms of `LAPACK` whose calls are in an executable."""
    text = executable.as_text() or ""
    return [name for name, (call, _) in LAPACK.items() if f'custom_call_target="{call}' in text]


@functools.cache
def _find_lapack(platform: str) -> None:
    """Have JAX look for LAPACK, without which an executable that calls it ends the process.

    JAX does so when it lowers a program, and one that is read is not lowered.
    """
    _, function = LAPACK[platform]
    matrix = np.ones((1, 1), np.float32)
    jax.jit(function).trace(matrix).lower(lowering_platforms=(platform,))


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
    return key_of(where, *plugin_versions(device), lowering, _text(target.optimized_for), asked)


DRIVER = Path("/proc/driver/nvidia/version")
"""Where NVIDIA's driver on Linux writes its version."""


def plugin_versions(device: jax.Device) -> tuple[str, ...]:
    """The versions of what XLA compiles and runs with on a device, besides jaxlib.

    They are those of the plugins that JAX finds, of what the plugin of the device was built with,
    and of the driver. On the CPU there is nothing but jaxlib.
    """
    if device.platform == "cpu":
        return ()
    found = {entry.dist for entry in entry_points(group="jax_plugins")}
    plugins = sorted(f"{each.name} {each.version}" for each in found if each is not None)
    built = str(getattr(getattr(device, "client", None), "platform_version", ""))
    try:
        driver = DRIVER.read_text(encoding="utf-8")
    except OSError:
        driver = ""
    return (*plugins, built, driver)


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
