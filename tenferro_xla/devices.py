"""The devices that XLA can run on here, and choosing one of them."""

from __future__ import annotations

import jax

from tenferro.errors import DeviceError


def devices() -> list[jax.Device]:
    """The devices of this process: those of JAX's default platform, then the CPU.

    >>> [device_name(device) for device in devices()][-1]
    'cpu:0'
    """
    found = jax.devices()
    if found[0].platform == "cpu":
        return found
    try:
        return [*found, *jax.devices("cpu")]
    except RuntimeError:  # JAX_PLATFORMS leaves the CPU out
        return found


def device_name(device: jax.Device) -> str:
    """The name by which `find_device` finds a device again: `cpu:0`."""
    return f"{device.platform}:{device.id}"


def find_device(device: int | str | jax.Device | None = None) -> jax.Device:
    """The device that is meant.

    An index into `devices()`, a name such as `cpu` or `gpu:1`, or None for the first.

    Raises:
        DeviceError: there is no such device; the text lists those that exist.

    >>> device_name(find_device("cpu"))
    'cpu:0'
    """
    known = devices()
    match device:
        case None:
            return known[0]
        case int() if 0 <= device < len(known):
            return known[device]
        case jax.Device() if device in known:
            return device
        case str():
            found = _named(device)
            if found is not None:
                return found
        case _:
            pass
    listed = ", ".join(device_name(each) for each in known)
    raise DeviceError(f"device: there is no device {device!r}; there are: {listed}")


def _named(name: str) -> jax.Device | None:
    platform, _, number = name.partition(":")
    try:
        found = jax.devices(platform)
    except RuntimeError:
        return None
    if not number:
        return found[0]
    return next((device for device in found if str(device.id) == number), None)
