"""CUDA as it is installed: what the driver takes, and which extra of tenferro there is."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

EXTRAS = {"cuda12": "jax-cuda12-plugin", "cuda13": "jax-cuda13-plugin"}
"""For each extra, the distribution that it installs."""
_DRIVER = "libcuda.so.1"


@dataclass(frozen=True, slots=True)
class Cuda:
    """What there is of CUDA.

    Attributes:
        driver: the newest CUDA that the driver takes, as `(12, 4)`; None without a driver.
        extras: the extras that are installed.
    """

    driver: tuple[int, int] | None
    extras: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """What keeps JAX from using a GPU that there is; None if nothing does."""
        if len(self.extras) > 1:
            both = " and ".join(self.extras)
            return f"{both} are both installed; uninstall the packages of one: pip uninstall " + (
                " ".join(name for name in _packages(self.extras[0]))
            )
        for extra in self.extras:
            if self.driver is not None and self.driver[0] < _major(extra):
                return (
                    f"{extra} is installed, but the driver takes CUDA {self.version} at most; "
                    f"update the driver, or install tenferro[cuda{self.driver[0]}]"
                )
        return None

    @property
    def advice(self) -> str | None:
        """What would let JAX use a GPU; None if there is nothing to do."""
        if self.driver is not None and not self.extras:
            fitting = [extra for extra in EXTRAS if _major(extra) <= self.driver[0]]
            return f"install tenferro[{fitting[-1]}] to use the GPU" if fitting else None
        if self.driver is None and self.extras:
            return f"{self.extras[0]} is installed, but there is no driver of NVIDIA ({_DRIVER})"
        return None

    @property
    def version(self) -> str:
        """The driver's, as people write it."""
        return "none" if self.driver is None else ".".join(map(str, self.driver))


def installed_cuda() -> Cuda:
    """What there is of CUDA here; no GPU is touched."""
    return Cuda(driver_version(), tuple(name for name in EXTRAS if _is_installed(EXTRAS[name])))


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the driver takes; None without a driver."""
    number = ctypes.c_int()
    try:
        library = ctypes.CDLL(_DRIVER)
        failed = library.cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed or not number.value else (number.value // 1000, number.value % 1000 // 10)


def _is_installed(distribution: str) -> bool:
    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _major(extra: str) -> int:
    return int(extra.removeprefix("cuda"))


def _packages(extra: str) -> tuple[str, str]:
    return EXTRAS[extra], EXTRAS[extra].replace("plugin", "pjrt")
