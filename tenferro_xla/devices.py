"""The devices that XLA can run on here, and the settings of JAX under which programs run there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from tenferro.errors import DeviceError, NotFiniteError
from tenferro_xla.in_flight import is_forked, note_start

__all__ = [
    "device_name",
    "devices",
    "enter_x64",
    "find_device",
    "import_dlpack",
    "is_stopped",
    "leave_x64",
    "named_device",
    "own_settings",
    "platforms",
    "refuse_not_finite",
    "why_unavailable",
]


def devices() -> list[jax.Device]:
    """The devices of this process: those of JAX's default platform, then the CPU.

    Raises:
        DeviceError: JAX does not start on the platforms of `JAX_PLATFORMS`.

    >>> [device_name(device) for device in devices()][-1]
    'cpu:0'
    """
    note_start()
    try:
        default: list[jax.Device] = jax.local_devices()
    except (RuntimeError, AssertionError) as error:  # JAX asserts that a platform has started
        said = str(error).partition("\n")[0] or "none of its platforms starts"
        raise DeviceError(
            f"device: JAX has no device: {said}; JAX_PLATFORMS is "
            f"{os.environ.get('JAX_PLATFORMS', '')!r}; unset it to use what there is"
        ) from error
    if default[0].platform == "cpu":
        return default
    try:
        further: list[jax.Device] = jax.local_devices(backend="cpu")
    except RuntimeError:  # JAX_PLATFORMS leaves the CPU out
        return default
    return [*default, *further]


def why_unavailable(platform: str) -> str | None:
    """What JAX says when it is asked for devices of a platform; None if it has some.

    >>> why_unavailable("abacus") is None, why_unavailable("cpu") is None
    (False, True)
    """
    try:
        jax.local_devices(backend=platform)
    except (RuntimeError, AssertionError) as error:
        return str(error).partition("\n")[0] or None
    return None


def device_name(device: jax.Device) -> str:
    """The name of a device, such as `cpu:0` or `gpu:1`, whatever JAX prints for it."""
    return f"{device.platform}:{device.id}"


def named_device(value: object) -> str | None:
    """The name of what JAX takes for one device: a device, or a sharding on it; else None.

    >>> import jax
    >>> named_device(jax.devices("cpu")[0])
    'cpu:0'
    """
    if isinstance(value, SingleDeviceSharding):
        (value,) = value.device_set
    if isinstance(value, jax.Device):
        return device_name(value)
    return value if isinstance(value, str) else None


def platforms() -> set[str]:
    """The first words of the names of devices: those of `device_name`, and those that JAX prints.

    A GPU is `gpu:0`, and is found as `cuda:0` too.

    >>> "cpu" in platforms()
    True
    """
    known = devices()
    return {device.platform for device in known} | {str(each).partition(":")[0] for each in known}


def find_device(device: int | str | jax.Device | None = None) -> jax.Device:
    """The device of an index into `devices()`, or of a name such as `cpu` or `gpu:1`.

    None stands for the first device; a device of JAX stands for itself.

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
            named = _named(device)
            if named is not None:
                return named
        case _:
            pass
    listed = ", ".join(device_name(choice) for choice in known)
    raise DeviceError(f"device: there is no device {device!r}; there are: {listed}")


def _named(name: str) -> jax.Device | None:
    platform, _, number = name.partition(":")
    try:
        candidates = jax.local_devices(backend=platform)
    except RuntimeError:
        return None
    if not number:
        return candidates[0]
    return next((device for device in candidates if str(device.id) == number), None)


def import_dlpack(value: Any) -> jax.Array | None:
    """An array of another library, on the device that holds it; None if JAX does not take it.

    The memory is shared where JAX can share it.
    """
    if is_forked():
        return None
    try:
        with jax.enable_x64(True):
            array: jax.Array = jax.dlpack.from_dlpack(value)
    except (RuntimeError, TypeError, ValueError, BufferError):
        return None
    return array


@contextlib.contextmanager
def own_settings(precision: str | None = None) -> Iterator[None]:
    """JAX as tenferro uses it, whatever the user has set, in this thread and while this lasts.

    `precision` is that of the products in what is lowered, also those in functions of JAX.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.enable_x64(True))
        stack.enter_context(jax.disable_jit(False))
        stack.enter_context(jax.debug_nans(False))
        stack.enter_context(jax.debug_infs(False))
        stack.enter_context(jax.transfer_guard("allow"))
        stack.enter_context(jax.numpy_dtype_promotion("standard"))
        stack.enter_context(jax.numpy_rank_promotion("allow"))
        if precision is not None:
            stack.enter_context(jax.default_matmul_precision(precision))
        yield


def x64_mode(state: Any) -> tuple[Callable[[bool], Any], Callable[[Any], object]]:
    """What enters 64-bit mode when it is called with True, and what leaves it with the result.

    `state` is `jax.enable_x64`. They are its steps as a context manager, which takes four times as
    long. JAX has no public names for them; where they have changed, they are that context manager.
    """
    if getattr(state, "_update_thread_local_hook", True) is None and hasattr(state, "swap_local"):
        return state.swap_local, state.set_local

    def enter(on: bool) -> Any:
        context = state(on)
        context.__enter__()
        return context

    return enter, lambda context: context.__exit__(None, None, None)


enter_x64, leave_x64 = x64_mode(jax.enable_x64)


def is_stopped(error: Exception) -> bool:
    """Whether a setting of the user has stopped a call or a transfer that is all right."""
    text = str(error)
    return "Disable jit is not supported" in text or (
        text.startswith("INVALID_ARGUMENT: Disallowed ") and " transfer" in text
    )


def refuse_not_finite(error: Exception) -> None:
    """Raise NotFiniteError if JAX has found a NaN or an infinity, which the user has asked for."""
    if isinstance(error, FloatingPointError) or type(error).__name__ == _NAN_ERROR:
        raise NotFiniteError(
            "run: a result has NaN or infinite elements, and jax_debug_nans or jax_debug_infs is "
            "on; look at values in tn.disable_jit(), or turn the setting of JAX off"
        ) from error


_NAN_ERROR = "InternalFloatingPointError"
"""What JAX raises in calls of compiled functions; the class is private."""
