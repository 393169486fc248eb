"""The device that an executor compiles for, and what programs go through for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax

from tenferro.compiler import DeviceCosts, DeviceModel, Target
from tenferro.exec_ir import ExecProgram
from tenferro_xla.lowering import LoweringOptions
from tenferro_xla.platforms import Platform, taken_options


@dataclass(frozen=True, slots=True)
class XlaTarget:
    """The device and the options of an executor; the same for all of its programs.

    Attributes:
        device: where the programs run.
        platform: what is known of the device.
        lowering: options of the lowering.
        compiler_options: options of the XLA compiler that the user asks for.
        max_bytes: the largest value in bytes that a program may hold.
        checked: whether each call checks that its buffers are on the device.
        costs: the costs by which contractions are brought into the form that the device is fast
            at; None does not change them.
    """

    device: jax.Device
    platform: Platform
    lowering: LoweringOptions
    compiler_options: Mapping[str, Any]
    max_bytes: int
    checked: bool
    costs: DeviceCosts | None = None

    @property
    def optimized_for(self) -> Target:
        """The target that the compiler optimizes for."""
        platform = self.platform
        passes = platform.passes(self.costs)
        name = f"xla:{platform.name}"
        return Target(name, passes, self.lowering.extensions, runs=platform.runs)

    @property
    def device_model(self) -> DeviceModel:
        """What plans are made by."""
        return DeviceModel(self.costs or self.platform.costs, self.platform.runs)

    def free_bytes(self) -> int:
        """The bytes that a program may take on the device now.

        Raises:
            ConfigError: the device does not tell.
        """
        return self.platform.free_bytes(self.device)

    def options_for(self, program: ExecProgram) -> dict[str, Any]:
        """The options of the XLA compiler for one program, ready to be lowered.

        Those of the platform that this XLA knows, and over them the user's.
        """
        wanted = self.platform.options_for(program)
        taken = taken_options(wanted, self.device).taken
        return {option.name: option.value for option in taken} | dict(self.compiler_options)
