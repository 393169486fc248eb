"""Files that need several devices are collected in the child processes of `test_mesh` alone."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "device_count" in os.environ.get("XLA_FLAGS", "") else ["on_*.py"]
