"""What NVIDIA's driver says, by a library that answers as it does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tenferro.runtime import DRIVER as INSTALLED
from tenferro.runtime import driver_gpus, driver_version, free_gpu_bytes

DRIVER = """
#include <stddef.h>
#include <stdlib.h>
static int open = 0;
static int fact(const char *name) { return getenv(name) ? atoi(getenv(name)) : 0; }
int cuInit(unsigned flags) { return flags + fact("STATUS"); }
int cuDriverGetVersion(int *number) { *number = fact("NUMBER"); return 0; }
int cuDeviceGetCount(int *count) { *count = fact("COUNT"); return 0; }
int cuGetErrorName(int status, const char **name) {
  *name = status == 803 ? "CUDA_ERROR_X" : 0; return 0;
}
int cuDeviceGet(int *device, int number) { *device = number + 40; return number > 3; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &open; return device < 40; }
int cuCtxPushCurrent_v2(void *context) { open += 1; return context != &open; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = (size_t)open << 33; *total = (size_t)1 << 37; return 0;
}
int cuCtxPopCurrent_v2(void **context) { *context = &open; open -= 1; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device < 40; }
"""
"""A driver of which 8 GiB are free while its context is the current one. The environment says the
other facts."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C for a driver")
    folder = tmp_path_factory.mktemp("driver")
    source, library = folder / "driver.c", str(folder / "libcuda.so")
    source.write_text(DRIVER)
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", library], check=True)
    return library


@pytest.mark.parametrize(("number", "read"), [("12040", (12, 4)), ("13010", (13, 1)), ("0", None)])
def test_it_says_which_cuda_it_takes(
    driver: str, number: str, read: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBER", number)
    assert driver_version(driver) == read


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("0", (2, None)),
        ("100", (0, None)),
        ("803", (None, "CUDA_ERROR_X")),
        ("999", (None, "error 999 of CUDA")),
    ],
)
def test_it_says_how_many_gpus_there_are(
    driver: str,
    status: str,
    found: tuple[int | None, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STATUS", status)
    monkeypatch.setenv("COUNT", "2" if status == "0" else "0")
    assert driver_gpus(driver) == found


def test_it_says_what_is_free_in_the_context_of_the_gpu(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert free_gpu_bytes(0, driver) == free_gpu_bytes(0, driver) == 8 << 30
    assert free_gpu_bytes(4, driver) is None
    monkeypatch.setenv("STATUS", "803")
    assert free_gpu_bytes(0, driver) is None


def test_without_a_driver_nothing_is_known(tmp_path: Path) -> None:
    assert INSTALLED == "libcuda.so.1"
    absent = str(tmp_path / "none.so")
    assert driver_version(absent) is None
    assert driver_gpus(absent) == (None, None)
    assert free_gpu_bytes(0, absent) is None
