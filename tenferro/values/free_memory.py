"""How much memory of the host a program may take."""

from __future__ import annotations

import os
from pathlib import Path

from tenferro.errors import ConfigError

_MEMINFO = Path("/proc/meminfo")
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Files of control groups, of both versions: the limit, and what is in use."""


def free_host_bytes() -> int:
    """The bytes that the system says a program may take now, also in a container.

    Raises:
        ConfigError: the system does not tell.

    >>> free_host_bytes() > 0
    True
    """
    known = [each for each in (_of_the_system(), *map(_of_a_group, _GROUPS)) if each is not None]
    if not known:
        raise ConfigError(
            "memory_limit: this system does not tell how much memory is free; pass a number of "
            "bytes in place of 'device'"
        )
    return max(min(known), 1)


def _of_the_system() -> int | None:
    """What is available without swapping, caches included."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _of_a_group(files: tuple[str, str]) -> int | None:
    """What is left of the limit of a control group; None if there is none."""
    try:
        limit, used = (int(Path(name).read_text()) for name in files)
    except (OSError, ValueError):  # "max" is no limit
        return None
    return limit - used
