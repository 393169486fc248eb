"""What is known of a device, as data for reports."""

from __future__ import annotations

from typing import Any

import jax

from tenferro.errors import ConfigError
from tenferro_xla.places import device_name
from tenferro_xla.platforms.known import platform_of
from tenferro_xla.platforms.options import taken_options
from tenferro_xla.platforms.platform import Platform


def device_facts(device: jax.Device) -> dict[str, Any]:
    """What is known of a device, as JSON has it, for reports such as that of `tenferro doctor`.

    >>> facts = device_facts(jax.devices("cpu")[0])
    >>> facts["name"], facts["platform"]
    ('cpu:0', 'cpu')
    """
    platform = platform_of(device)
    options = taken_options(platform.wanted, device)
    return {
        "name": device_name(device),
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
