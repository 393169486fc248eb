"""What is known of a device, as data for reports."""

from __future__ import annotations

from typing import Any

import jax

from tenferro.errors import ConfigError
from tenferro_xla.platforms.options import taken_options
from tenferro_xla.platforms.platform import Platform


def facts_of(device: jax.Device, platform: Platform) -> dict[str, Any]:
    """What can be written as JSON: memory, precision, compiler options taken and dropped."""
    options = taken_options(platform.wanted, device)
    return {
        "platform": platform.name,
        "kind": device.device_kind,
        "rewrites": platform.rewrites,
        "memory": {"limit": platform.bytes_limit(device), "free": _free(device, platform)},
        "precision": dict(platform.precision),
        "options": {
            "taken": {option.name: option.value for option in options.taken},
            "dropped": {option.name: words for option, words in options.dropped},
        },
    }


def _free(device: jax.Device, platform: Platform) -> int | None:
    try:
        return platform.free_bytes(device)
    except ConfigError:
        return None
