"""What there is of CUDA, and why JAX does not use a GPU that is there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tenferro.runtime import DRIVER, driver_gpus, driver_version

EXTRAS = {"cuda12": "jax-cuda12-plugin", "cuda13": "jax-cuda13-plugin"}
"""For each extra, the distribution that it installs."""


@dataclass(frozen=True, slots=True)
class Cuda:
    """What there is of CUDA; what is None is not known.

    Attributes:
        driver: the newest CUDA that the driver takes, as `(12, 4)`; None without a driver.
        extras: the extras that are installed.
        gpus: how many GPUs the driver finds.
        failure: why the driver does not start; None if it does.
        nodes: whether there are device files of NVIDIA.
        devices: the names of those that JAX has, `()` if it does not start.
        said: what JAX says when it is asked for CUDA.
        misfits: distributions of the extras that do not fit jaxlib, with what is wrong.
        platforms: `JAX_PLATFORMS`.
        visible: `CUDA_VISIBLE_DEVICES`.
    """

    driver: tuple[int, int] | None
    extras: tuple[str, ...]
    gpus: int | None = None
    failure: str | None = None
    nodes: bool = False
    devices: tuple[str, ...] | None = None
    said: str | None = None
    misfits: tuple[str, ...] = ()
    platforms: str | None = None
    visible: str | None = None

    @property
    def problem(self) -> str | None:
        """What keeps JAX from using a GPU that there is; None if nothing does."""
        if len(self.extras) > 1:
            both = " and ".join(self.extras)
            plugin = EXTRAS[self.extras[0]]
            return (
                f"{both} are both installed; uninstall the packages of one: pip uninstall "
                f"{plugin} {plugin.replace('plugin', 'pjrt')}"
            )
        if not self.extras or self.in_use:
            return None
        (extra,) = self.extras
        if self.driver is None:
            return self._undetected(extra) if self.nodes else None
        if self.driver[0] < _major(extra):
            return (
                f"{extra} is installed, but the driver takes CUDA {self.version} at most; "
                f"update the driver, or install tenferro[cuda{self.driver[0]}]"
            )
        if self.failure is not None:
            return (
                f"the driver does not start ({self.failure}); restart the machine, or install the "
                "driver again"
            )
        if not self.gpus or self.devices is None or self.left_out:
            return None
        return self._unused(extra)

    def _undetected(self, extra: str) -> str:
        return (
            f"{extra} is installed, and there is a GPU (/dev/nvidia0), but {DRIVER} is not found; "
            "install the driver, put its folder into LD_LIBRARY_PATH, or start the container with "
            "--gpus all"
        )

    def _unused(self, extra: str) -> str:
        others = f"only {', '.join(self.devices)}" if self.devices else "no device"
        text = f"there is a GPU, and {extra} is installed, but JAX has {others}"
        again = f"pip install --force-reinstall 'tenferro[{extra}]'"
        if self.misfits:
            return f"{text}: {'; '.join(self.misfits)}; install it again: {again}"
        said = "" if self.said is None else f" ({self.said})"
        why = """JAX_PLATFORMS=cuda python -c "import jax; jax.devices()" shows why"""
        return f"{text}{said}; {why}; install it again: {again}"

    @property
    def advice(self) -> str | None:
        """What would let JAX use a GPU; None if there is nothing to do."""
        if self.problem is not None or self.in_use:
            return None
        if self.driver is None:
            lacking = f"but there is no driver of NVIDIA ({DRIVER})"
            return f"{self.extras[0]} is installed, {lacking}" if self.extras else None
        if self.gpus == 0:
            hidden = "" if self.visible is None else f": CUDA_VISIBLE_DEVICES is {self.visible!r}"
            lacking = f"but the driver finds no GPU{hidden}"
            return f"{self.extras[0]} is installed, {lacking}" if self.extras else None
        if not self.extras:
            fitting = [extra for extra in EXTRAS if _major(extra) <= self.driver[0]]
            return f"install tenferro[{fitting[-1]}] to use the GPU" if fitting else None
        if self.gpus and self.left_out:
            return f"JAX_PLATFORMS is {self.platforms!r}; unset it to use the GPU"
        return None

    @property
    def in_use(self) -> bool:
        """Whether JAX has a GPU."""
        return any(each.startswith(("gpu", "cuda")) for each in self.devices or ())

    @property
    def left_out(self) -> bool:
        """Whether the user wants no GPU: `JAX_PLATFORMS` names others only."""
        return bool(self.platforms) and not re.search("cuda|gpu", str(self.platforms))

    @property
    def version(self) -> str:
        """The driver's, as people write it."""
        return "none" if self.driver is None else ".".join(map(str, self.driver))


def installed_cuda(devices: Sequence[str] | None = None, said: str | None = None) -> Cuda:
    """What there is of CUDA here; no memory of a GPU is touched.

    `devices` are the names of those that JAX has, and `said` is what it says when it is asked for
    CUDA.
    """
    extras = tuple(name for name in EXTRAS if _version(EXTRAS[name]) is not None)
    gpus, failure = driver_gpus()
    return Cuda(
        driver_version(),
        extras,
        gpus,
        failure,
        any(Path("/dev").glob("nvidia[0-9]*")),
        None if devices is None else tuple(devices),
        said,
        misfits(extras, _version),
        os.environ.get("JAX_PLATFORMS"),
        os.environ.get("CUDA_VISIBLE_DEVICES"),
    )


def misfits(extras: Sequence[str], version_of: Callable[[str], str | None]) -> tuple[str, ...]:
    """What of the extras JAX does not use, since it is not of the version of jaxlib, or is absent.

    >>> misfits(["cuda12"], {"jaxlib": "0.10.2", "jax-cuda12-plugin": "0.10.2"}.get)
    ('jax-cuda12-pjrt is not installed',)
    """
    jaxlib = version_of("jaxlib")
    found = []
    for extra in extras:
        for distribution in (EXTRAS[extra], EXTRAS[extra].replace("plugin", "pjrt")):
            installed = version_of(distribution)
            if installed is None:
                found.append(f"{distribution} is not installed")
            elif jaxlib is not None and _release(installed) != _release(jaxlib):
                found.append(f"{distribution} is {installed}, but jaxlib is {jaxlib}")
    return tuple(found)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _release(text: str) -> str:
    """The numbers of a version, which JAX compares."""
    return re.match(r"[0-9.]*", text)[0].rstrip(".")  # type: ignore[index]  # it matches anything


def _major(extra: str) -> int:
    return int(extra.removeprefix("cuda"))
