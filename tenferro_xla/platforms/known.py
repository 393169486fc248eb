"""The platform of a device."""

from __future__ import annotations

import jax

from tenferro_xla.platforms.cpu import CPU_PLATFORM
from tenferro_xla.platforms.cuda import CUDA_PLATFORM
from tenferro_xla.platforms.platform import Platform

KNOWN = {each.name: each for each in (CPU_PLATFORM, CUDA_PLATFORM)}


def platform_named(name: str) -> Platform:
    """The platform of this name, as JAX lowers for it: `cpu`, `cuda`; else the neutral one.

    >>> platform_named("tpu").passes(None) == platform_named("cuda").passes(None)
    True
    """
    return KNOWN.get(name, Platform(name))


def platform_of(device: jax.Device) -> Platform:
    """The platform of a device. JAX calls devices of CUDA and ROCm `gpu`; they print otherwise.

    >>> platform_of(jax.devices("cpu")[0]).name
    'cpu'
    """
    if device.platform != "gpu":
        return platform_named(device.platform)
    return platform_named(str(device).partition(":")[0].lower())
