"""The package as others see it: what it imports, and what its README shows."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLIC = {"tenferro", "tenferro.errors", "tenferro.extension"}


def test_it_imports_public_names_of_tenferro_only_and_jax_in_one_place() -> None:
    for path in (ROOT / "tenferro_ext_tropical").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [str(node.module)]
            for module in modules:
                package = module.partition(".")[0]
                assert package != "tenferro" or module in PUBLIC, f"{path.name}: {module}"
                assert package != "jax" or path.name == "xla.py", path.name


def test_importing_it_does_not_import_jax() -> None:
    code = "import sys, tenferro_ext_tropical; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_the_readme_shows_what_happens() -> None:
    text = (ROOT / "README.md").read_text().replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    assert len(test.examples) > 5
