"""`XlaTarget`: what an executor compiles for, and the compiler options that this XLA knows."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import numpy as np
from jax import numpy as jnp

from tenferro.compiler import DeviceCosts, DeviceModel, PartitionedAxes, Target
from tenferro.compiler.device import SharedLanes
from tenferro.config import Config, config, count, flag
from tenferro.errors import ConfigError
from tenferro.ir import ExecProgram
from tenferro_xla.devices import device_name
from tenferro_xla.lowering import ExtensionLowerings, LoweringOptions, Precision, SharedSlices
from tenferro_xla.placement import OnMesh, Placement
from tenferro_xla.platforms import (
    CPU_PLATFORM,
    CUDA_PLATFORM,
    MaterializedComparisons,
    Option,
    Platform,
    SeparatePaddings,
    SingleSums,
)

__all__ = ["Options", "accepted_options", "device_facts", "platform_named", "platform_of"]


# Which wanted compiler options the XLA of this process knows: each is tried once.


@dataclass(frozen=True, slots=True)
class Options:
    """Wanted options, sorted by whether XLA knows them.

    Attributes:
        accepted: those that programs are compiled with.
        dropped: those that XLA refuses, each with what it says.
    """

    accepted: tuple[Option, ...]
    dropped: tuple[tuple[Option, str], ...]


def accepted_options(wanted: Sequence[Option], device: jax.Device) -> Options:
    """The options, each tried on a program of one op; once in a process for each device.

    >>> import jax
    >>> from tenferro_xla.platforms.platform import Option
    >>> unknown = Option("xla_no_such_option", True, "")
    >>> [option.name for option, _ in accepted_options([unknown], jax.devices("cpu")[0]).dropped]
    ['xla_no_such_option']
    """
    said = {option: _refusal(option, device) for option in wanted}
    accepted = tuple(option for option, words in said.items() if words is None)
    dropped = tuple((option, words) for option, words in said.items() if words is not None)
    return Options(accepted, dropped)


@functools.cache
def _refusal(option: Option, device: jax.Device) -> str | None:
    """What XLA says against an option; None if it knows it."""
    with jax.default_device(device):
        lowered = jax.jit(jnp.negative).lower(np.float32(1))
        try:
            options: dict[str, Any] = {option.name: option.value}  # JAX takes numbers as well
            lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            return str(error).splitlines()[0]
    return None


# The device that an executor compiles for, and what programs go through for it.

OfDevice = Literal["device"]


@dataclass(frozen=True, slots=True)
class XlaTarget:
    """The device and the options of an executor; the same for all of its programs.

    Attributes:
        placement: where the programs run.
        platform: what is known of its devices.
        lowering: options of the lowering.
        compiler_options: options of the XLA compiler that the user asks for.
        max_bytes: the largest value in bytes that a program may hold.
        checked: whether each call checks that its buffers are on the device.
        costs: the costs by which contractions are brought into the form that the device is fast
            at; None does not change them.
        in_flight: on a mesh, how many calls with collectives may be outstanding in this process.
        optimized_for: the target that the compiler optimizes for.
    """

    placement: Placement
    platform: Platform
    lowering: LoweringOptions
    compiler_options: Mapping[str, Any]
    max_bytes: int
    checked: bool
    costs: DeviceCosts | None = None
    in_flight: int = 1
    optimized_for: Target = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "optimized_for", self.optimized_with(None))

    def optimized_with(self, pinned: PartitionedAxes | None) -> Target:
        """The target for a program of which some axes are divided among devices."""
        platform = self.platform
        right = (SeparatePaddings(), SingleSums()) if platform.missums else ()
        passes = (*platform.passes(self.costs, pinned), *right, MaterializedComparisons())
        shared = self.lowering.shared_slices
        if shared is not None:
            passes = (SharedLanes(shared.workers, shared.ordered), *passes)
        name = f"xla:{platform.name}"
        return Target(name, passes, self.lowering.extensions, runs=platform.runs, pinned=pinned)

    @property
    def device_model(self) -> DeviceModel:
        platform = self.platform
        return DeviceModel(self.costs or platform.costs_of(self.placement.first), platform.runs)

    def free_bytes(self) -> int:
        """The bytes that a program may take on the device now; on a mesh, on each device.

        Raises:
            ConfigError: the device does not tell, or several processes would have to agree on it.
        """
        placement = self.placement
        if not isinstance(placement, OnMesh):
            return self.platform.free_bytes(placement.device)
        if len(placement.processes) > 1:
            raise ConfigError(
                f"memory_limit: {placement} has devices of {len(placement.processes)} processes, "
                "which may have different amounts free and must compile the same program; pass a "
                "number of bytes in place of 'device'"
            )
        devices = placement.mesh.devices.flat
        return min(self.platform.free_bytes(device, len(devices)) for device in devices)

    def options_for(self, program: ExecProgram) -> dict[str, Any]:
        """The options of the XLA compiler for one program, ready to be lowered.

        Those of the platform that this XLA knows, and over them the user's.
        """
        wanted = self.platform.options_for(program)
        accepted = accepted_options(wanted, self.placement.first).accepted
        return {option.name: option.value for option in accepted} | dict(self.compiler_options)


def target_for(
    placement: Placement,
    platform: Platform,
    lowerings: ExtensionLowerings,
    precision: Precision = "highest",
    compiler_options: Mapping[str, Any] | None = None,
    max_bytes: int | None = None,
    costs: DeviceCosts | OfDevice | None = "device",
    checked: bool = False,
    in_flight: int | None = None,
    slices_over: str | Sequence[str] | None = None,
    deterministic: bool = True,
) -> XlaTarget:
    """The target of an executor on devices of a platform; for the arguments, see `XlaExecutor`."""
    known = platform.costs_of(placement.first) if platform.rewrites else None
    mesh = placement.mesh if isinstance(placement, OnMesh) else None
    waits = not platform.keeps_barriers
    ordered = flag("XlaExecutor: deterministic", deterministic)
    shared = SharedSlices.over(mesh, slices_over, ordered)
    return XlaTarget(
        placement,
        platform,
        LoweringOptions(
            precision,
            lowerings,
            waits,
            mesh,
            shared,
            drops_nan=platform.drops_nan,
            reduces_singly=platform.reduces_singly and mesh is None,
            small_loops=platform.small_loops and mesh is None,
            ordered_scatters=platform.ordered_scatters and mesh is None,
            awaits_loops=platform.awaits_loops,
            platform=platform.name,
        ),
        mapping_of_options(compiler_options),
        _budget(platform, placement.first)
        if max_bytes is None
        else count("XlaExecutor: max_bytes", max_bytes, 0, "a number of bytes"),
        checked,
        _costs(costs, known),
        platform.in_flight
        if in_flight is None
        else count("XlaExecutor: in_flight", in_flight, 1, "a number of calls"),
    )


def mapping_of_options(value: object) -> dict[str, Any]:
    """The options of the XLA compiler that a user gives.

    Raises:
        ConfigError: they are no mapping from names to values.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigError(
            "compiler_options must be a mapping from names to values, such as "
            f'{{"xla_cpu_enable_fast_math": False}}, got {value!r}'
        )
    return dict(value)


def _costs(value: object, known: DeviceCosts | None) -> DeviceCosts | None:
    """The costs that a user asks for; `known` are those of the device."""
    if value == "device":
        return known
    if not isinstance(value, DeviceCosts | None):
        raise ConfigError(
            f"XlaExecutor: contraction_costs must be DeviceCosts, 'device' or None, got {value!r}"
        )
    return value


def _budget(platform: Platform, device: jax.Device) -> int:
    """The largest value in bytes, unless the user says another: that of the device's memory."""
    limit = platform.bytes_limit(device)
    is_default = config.max_bytes == Config().max_bytes
    return config.max_bytes if limit is None or not is_default else limit


# The platform of a device.

KNOWN = {each.name: each for each in (CPU_PLATFORM, CUDA_PLATFORM)}


def platform_named(name: str) -> Platform:
    """The platform of this name, as JAX lowers for it: `cpu`, `cuda`; else the neutral one.

    >>> platform_named("tpu").passes(None) == platform_named("cuda").passes(None)
    True
    """
    return KNOWN.get(name, Platform(name))


def platform_of(device: jax.Device) -> Platform:
    """The platform of a device. JAX calls devices of CUDA and ROCm `gpu`; they print otherwise.

    >>> import jax
    >>> platform_of(jax.devices("cpu")[0]).name
    'cpu'
    """
    if device.platform != "gpu":
        return platform_named(device.platform)
    return platform_named(str(device).partition(":")[0].lower())


# What is known of a device, as data for reports.


def device_facts(device: jax.Device) -> dict[str, Any]:
    """What is known of a device, as JSON has it, for reports such as that of `tenferro doctor`.

    >>> import jax
    >>> facts = device_facts(jax.devices("cpu")[0])
    >>> facts["name"], facts["platform"]
    ('cpu:0', 'cpu')
    """
    platform = platform_of(device)
    options = accepted_options(platform.wanted, device)
    return {
        "name": device_name(device),
        "platform": platform.name,
        "kind": device.device_kind,
        "rewrites": platform.rewrites,
        "memory": {"limit": platform.bytes_limit(device), "free": _free(device, platform)},
        "precision": dict(platform.precision),
        "options": {
            "taken": {option.name: option.value for option in options.accepted},
            "dropped": {option.name: words for option, words in options.dropped},
        },
    }


def _free(device: jax.Device, platform: Platform) -> int | None:
    try:
        return platform.free_bytes(device)
    except ConfigError:
        return None
