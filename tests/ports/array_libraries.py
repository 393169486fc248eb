"""The tests of array-api-extra, and of autoray, with tensors.

    python -m tests.ports.array_libraries [--autoray FOLDER]

array-api-extra is that of the extra `ports`, whose tests lie in the package. A copy of it and of
array-api-compat gets the lines that `docs/how_to/use_numpys_functions.md` proposes, and tenferro in
the list of backends. autoray is published without its tests: the option is their folder in a
checkout of its repository. The exit code is 1 if a test fails that `failures.txt` does not list.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from tests.ports.suites import expected, outcomes

EDITS = {
    "array_api_compat/common/_helpers.py": (
        "        return res\n    return hasattr(x, '__array_namespace__')\n\n\n@lru_cache(100)\n"
        "def _is_lazy_cls",
        '        return res\n    flags = getattr(x, "flags", None)\n    return hasattr(x, '
        "'__array_namespace__') and getattr(flags, \"writeable\", True)\n\n\n@lru_cache(100)\n"
        "def _is_lazy_cls",
    ),
    "array_api_extra/_at.py": (
        "            if _compat.is_jax_array(x):\n                # Use JAX's at[]",
        '            if _compat.is_jax_array(x) or hasattr(x, "at"):',
    ),
    "array_api_extra/_lib/_backends.py": (
        '    NUMPY = "numpy"\n',
        '    NUMPY = "numpy"\n    TENFERRO = "tenferro"\n',
    ),
}
"""Files, a text that stands there once, and what stands there instead."""


def array_api_extra(out: Path) -> list[str]:
    """A copy that knows tensors; the folder of its tests."""
    for name in ("array_api_compat", "array_api_extra"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed: pip install -e '.[ports]'")
        shutil.copytree(Path(spec.origin).parent, out / name)
    for name, (before, after) in EDITS.items():
        file = out / name
        text = file.read_text(encoding="utf-8")
        if text.count(before) != 1:
            raise SystemExit(f"{name} is another version than that of the extra `ports`")
        file.write_text(text.replace(before, after), encoding="utf-8")
    return [str(out / "array_api_extra/tests/main"), "-k", "tenferro", "-W", "ignore"]


def autoray(out: Path, tests: Path) -> list[str]:
    """A copy of the tests with tenferro in the list of backends; their folder."""
    shutil.copytree(tests, out / "tests")
    file = out / "tests" / "conftest.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('    "torch",\n', '    "torch",\n    "tenferro",\n', 1), "utf-8")
    return [str(out / "tests"), "-k", "tenferro"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--autoray", type=Path, help="its tests, in a checkout")
    options = parser.parse_args()
    reasons, wrong = expected(), False
    for library in ("array_api_extra", *(("autoray",) if options.autoray else ())):
        out = Path(tempfile.mkdtemp(prefix=f"{library}-"))
        chosen = array_api_extra(out) if library != "autoray" else autoray(out, options.autoray)
        found = outcomes(chosen, out, {})
        failed = {name: why for name, why in found.items() if why != "passed"}
        listed = {name for name in failed if any(fnmatchcase(name, pattern) for pattern in reasons)}
        for name in sorted(failed.keys() - listed):
            print(f"{library}: {name}: {failed[name]}")
        passed = len(found) - len(failed)
        share = 100 * passed / max(len(found), 1)
        print(f"{library}: {passed} of {len(found)} pass, {share:.1f} %; {len(listed)} are listed")
        wrong |= bool(failed.keys() - listed) or not found
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
