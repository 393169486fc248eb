"""The layout of the repository that no other tool checks."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["tenferro", "tenferro_xla"]
MAX_LINES = 800
# Packages whose `__all__` is for users; others import their modules.
PUBLIC = {
    "linalg",
    "fft",
    "network",
    "lax",
    "numpy",
    "random",
    "nn",
    "farm",
    "scipy",
    "experimental",
}
# Modules that give users the names of modules of `ir`.
FRONTS = {"tenferro/shape.py", "tenferro/typing.py"}
MAX_WALKS = 64

# Modules that may import while they run: the lazy front door.
IMPORTS_WHILE_RUNNING = {"tenferro/__init__.py"}
# Directories of tests that mirror no package.
OWN_DIRECTORIES = {"benchmarks", "golden", "ports", "spec", "typing"}


def files(*tops: str) -> Iterator[Path]:
    """The files of the repository below some of its directories, without what is built."""
    for top in tops:
        for directory, names, members in os.walk(ROOT / top):
            names[:] = sorted(n for n in names if is_source(Path(directory, n)))
            yield from (Path(directory, member) for member in sorted(members))


def is_source(directory: Path) -> bool:
    """Whether a directory holds what was written rather than built, cached or installed."""
    if (directory / "pyvenv.cfg").exists():
        return False
    return directory.name == ".ci" or not directory.name.startswith((".", "__", "_build"))


def python_files(*tops: str) -> list[Path]:
    return [path for path in files(*tops) if path.suffix == ".py"]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Which module of the two packages imports which."""
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def test_no_file_is_over_800_lines() -> None:
    sizes = {
        name_of(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(*PACKAGES, "tests", "docs", "examples")
    }
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


def test_the_directories_of_tests_mirror_the_rooms() -> None:
    tests = ROOT / "tests"
    directories = {path.parent.relative_to(tests) for path in python_files("tests")} - {Path()}
    assert [
        name.as_posix()
        for name in directories
        if name.parts[0] not in OWN_DIRECTORIES
        and not (ROOT / name).is_dir()
        and not (ROOT / "tenferro" / name).is_dir()
        and not (ROOT / "tenferro" / f"{name}.py").is_file()
    ] == []


def test_every_import_stands_at_the_top_of_its_module() -> None:
    assert [
        f"{name_of(path)}:{line}"
        for path in python_files(*PACKAGES)
        if name_of(path) not in IMPORTS_WHILE_RUNNING
        for line in deferred_imports(parsed(path))
    ] == []


def test_a_deferred_import_is_found() -> None:
    source = "import os\ndef f():\n    import sys\ndef g():\n    return import_module('x')\n"
    assert deferred_imports(ast.parse(source)) == [3, 5]


def deferred_imports(tree: ast.Module) -> list[int]:
    """The lines that import inside a function."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    found, stack = set(), [(child, False) for child in tree.body]
    while stack:
        node, inside = stack.pop()
        if inside and is_import(node):
            found.add(node.lineno)
        inside = inside or isinstance(node, functions)
        stack += ((child, inside) for child in ast.iter_child_nodes(node))
    return sorted(found)


def is_import(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Call(func=ast.Name(id="__import__" | "import_module")):
            return True
        case ast.Call(func=ast.Attribute(attr="import_module")):
            return True
    return False


def test_no_module_imports_itself_through_others(graph: grimp.ImportGraph) -> None:
    TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    ).prepare()  # raises CycleError, which names the modules


def test_a_package_is_used_through_its_front_door() -> None:
    assert [
        f"{name_of(path)}: {name}"
        for path in python_files(*PACKAGES)
        for name in imported_modules(parsed(path))
        if name.startswith("tenferro.")
        and not is_door(name)
        and name_of(path) not in FRONTS
        and name.split(".")[:2] != name_of(path).removesuffix(".py").split("/")[:2]
    ] == []


def is_door(module: str) -> bool:
    """Whether a module is what others import: a package, or a module of a public package."""
    path = ROOT / module.replace(".", "/")
    by_topic = module.startswith("tenferro.ops.functions.")  # array functions
    return path.is_dir() or module.count(".") == 1 or by_topic or module.split(".")[1] in PUBLIC


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """The absolute names of modules that a file imports, or imports from."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module


def test_few_places_walk_over_the_instructions_of_a_program() -> None:
    """`run`, `Rewriter` and the questions that an `ExecProgram` answers serve the others."""
    walks = [
        f"{name_of(path)}:{line}"
        for path in python_files(*PACKAGES)
        for line in walks_over_instructions(parsed(path))
    ]
    assert len(walks) <= MAX_WALKS, walks


def walks_over_instructions(tree: ast.Module) -> Iterator[int]:
    """The lines of loops and comprehensions over an attribute `instructions`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            names = (n.attr for n in ast.walk(node.iter) if isinstance(n, ast.Attribute))
            if "instructions" in names:
                yield node.iter.lineno


def test_a_walk_over_instructions_is_found() -> None:
    source = (
        "for s in reversed(p.instructions): s\nx = [s for s in p.instructions]\nfor s in p: s\n"
    )
    assert list(walks_over_instructions(ast.parse(source))) == [1, 2]


def test_no_package_registry_is_named() -> None:
    hosts = [f"{name}.{top}" for name, top in [("pypi", "org"), ("pythonhosted", "org")]]
    texts = ((path, path.read_text(encoding="utf-8", errors="ignore")) for path in files("."))
    assert [
        f"{name_of(path)}: {host}" for path, text in texts for host in hosts if host in text
    ] == []
