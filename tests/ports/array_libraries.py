"""The tests of array-api-extra, autoray and quimb, and calls of SciPy's functions, with tensors.

    python -m tests.ports.array_libraries [LIBRARY...] [--autoray FOLDER] [--quimb FOLDER]

array-api-extra is that of the extra `ports`, whose tests lie in the package. A copy of it and of
array-api-compat gets the lines that `docs/how_to/use_numpys_functions.md` proposes, and tenferro in
the list of backends. `scipy_functions.py` has the calls of SciPy. autoray is published without its
tests: the option is their folder in a checkout of its repository. quimb's are in its source
distribution. The exit code is 1 if a test fails that `failures.txt` does not list.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import tempfile
from pathlib import Path

from tests.ports.suites import all_expected, outcomes

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


def quimb(out: Path, tests: Path) -> list[str]:
    """A copy of the tests, and the files on networks and on networks in one dimension."""
    shutil.copytree(tests, out / "quimb_tests")
    folder = out / "quimb_tests" / "test_tensor"
    files = [folder / f"test_{name}.py" for name in ("tensor_core", "contract", "decomp")]
    plugin = ("-p", "tests.ports.quimb_arrays", "-W", "ignore")
    return [*map(str, files), str(folder / "test_tn1d"), *plugin]


SCIPY = [str(Path(__file__).with_name("scipy_functions.py")), "-W", "ignore"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("libraries", nargs="*", default=["array_api_extra", "scipy"])
    parser.add_argument("--autoray", type=Path, help="its tests, in a checkout")
    parser.add_argument("--quimb", type=Path, help="the tests of its source distribution")
    options = parser.parse_args()
    libraries = list(options.libraries)
    libraries += [name for name in ("autoray", "quimb") if getattr(options, name)]
    wrong = False
    for library in libraries:
        out = Path(tempfile.mkdtemp(prefix=f"{library}-"))
        if library == "scipy":
            found = outcomes(SCIPY, out, {"SCIPY_ARRAY_API": "1"})
        elif library == "array_api_extra":
            found = outcomes(array_api_extra(out), out, {})
        elif library == "autoray":
            found = outcomes(autoray(out, options.autoray), out, {})
        else:
            found = outcomes(quimb(out, options.quimb), out, {})
        wrong |= not all_expected(library, found)
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
