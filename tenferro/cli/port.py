"""`tenferro port`: programs written for JAX, with tenferro's imports in place of JAX's.

Only imports change, and the few names that stand elsewhere here; all other text stays as it is. A
program gets two lines, by which dtypes are those it had. What tenferro does not have is listed with
its line and what to do instead.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import inspect
import io
import json
import re
import shutil
import sys
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import tenferro
from tenferro.errors import CommandError, counted
from tenferro.ops import load_named

MOVED: dict[str, str] = {
    "jax.NamedSharding": "tenferro.sharding.NamedSharding",
    "jax.P": "tenferro.sharding.PartitionSpec",
    "jax.ad_checkpoint.checkpoint": "tenferro.checkpoint",
    "jax.ad_checkpoint.checkpoint_name": "tenferro.checkpoint_name",
    "jax.ad_checkpoint.checkpoint_policies": "tenferro.checkpoint_policies",
    "jax.core.Tracer": "tenferro.TracedTensor",
    "jax.custom_derivatives.custom_jvp": "tenferro.custom_jvp",
    "jax.custom_derivatives.custom_vjp": "tenferro.custom_vjp",
    "jax.dlpack.from_dlpack": "tenferro.from_dlpack",
    "jax.errors.ConcretizationTypeError": "tenferro.errors.TracingError",
    "jax.errors.TracerArrayConversionError": "tenferro.errors.TracingError",
    "jax.errors.TracerBoolConversionError": "tenferro.errors.TracingError",
    "jax.errors.TracerIntegerConversionError": "tenferro.errors.TracingError",
    "jax.errors.UnexpectedTracerError": "tenferro.errors.TracingError",
    "jax.experimental.enable_x64": "tenferro.enable_x64",
    "jax.experimental.jet.jet": "tenferro.jet",
    "jax.make_mesh": "tenferro.sharding.make_mesh",
}
"""Names of JAX that tenferro has elsewhere. Those at the same place need no row."""

ELSEWHERE: dict[str, str] = {
    "jax._src": "it is an internal of JAX",
    "jax.core": "it is an internal of JAX; tn.TracedTensor is the type of values being traced",
    "jax.extend": "it is an internal of JAX",
    "jax.interpreters": "it is an internal of JAX",
    "jax.lib": "it is an internal of JAX",
    "jax.errors": "tn.errors has tenferro's own; all are tn.errors.TenferroError",
    "jax.experimental.pallas": "an op of your own is an extension; see Write an extension",
    "jax.experimental.sparse": "it is not there yet; tn.hessian(f, sparsity='auto') is sparse",
    "jax.experimental.jax2tf": "use tenferro_xla.export",
    "jax.experimental.checkify": "look at values with tn.debug, or test them in the program",
    "jax.experimental.multihost_utils": "use tn.sharding.from_local and tn.device_get",
    "jax.experimental.mesh_utils": "use tn.sharding.make_mesh",
}
"""Modules of JAX that have no counterpart, or whose name has another meaning here."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What a line needs by hand.

    Attributes:
        line: where it is; in a notebook, within the cell.
        name: what JAX calls it.
        remedy: what to do.
        cell: the number of the cell of a notebook, from 1; None in a file of Python.
    """

    line: int
    name: str
    remedy: str
    cell: int | None = None

    def __str__(self) -> str:
        place = "" if self.cell is None else f"cell {self.cell}:"
        return f"{place}{self.line}: {self.name}: {self.remedy}"


@dataclass(frozen=True, slots=True)
class Ported:
    """A program for tenferro, and what is left to do by hand."""

    text: str
    remarks: tuple[Remark, ...]


AS_IN_JAX = """\
import tenferro.config
tenferro.config.promotion, tenferro.config.default_float = "jax", "float32"  # as in JAX
"""
"""What a program begins with, so that it computes the numbers that it computed with JAX."""


def ported(source: str, promotion: str = "jax") -> Ported:
    """A program that was written for JAX.

    Args:
        source: its text.
        promotion: `jax` if it gets the lines by which dtypes are those of JAX, or `numpy`.

    >>> print(ported("from jax import numpy as jnp; import jax, os", promotion="numpy").text)
    from tenferro import numpy as jnp; import tenferro as jax, os
    """
    return Porter(begin=AS_IN_JAX if promotion == "jax" else "").port(source)


# Where tenferro has a name of JAX.


class NoCounterpart(Exception):  # noqa: N818  # its text is the remedy
    """tenferro does not have a name."""


@cache
def counterpart(path: str) -> tuple[str, Any]:
    """Where tenferro has what JAX calls `path`, such as `jax.numpy.sin`, and what is there.

    Names behind that of a class or function are its own business: they are not looked for.

    Raises:
        NoCounterpart: there is no such thing; the text says what to do.
    """
    if path in MOVED:
        return MOVED[path], found_at(MOVED[path])
    parts = path.split(".")
    for end in range(len(parts), 1, -1):
        prefix = ".".join(parts[:end])
        if prefix in MOVED:
            return MOVED[prefix], None  # an attribute of what has moved
        if prefix in ELSEWHERE:
            raise NoCounterpart(ELSEWHERE[prefix])
    target = ".".join(["tenferro", *parts[1:]])
    return target, found_at(target)


def found_at(target: str) -> Any:
    """What tenferro has at a place, a module or what is in one; None for an attribute of that.

    Raises:
        NoCounterpart: nothing; the text is the reason that the module gives.
    """
    here: str = "tenferro"
    found: Any = tenferro
    for name in target.split(".")[1:]:
        if not isinstance(found, ModuleType):
            return None
        try:
            found = getattr(found, name)
        except AttributeError as error:
            try:
                found = load_named(f"{here}.{name}")
            except ImportError:
                _, _, reason = str(error).partition("; ")
                guessed = not reason or reason.startswith("did you mean")
                raise NoCounterpart(f"{here} does not have it" if guessed else reason) from None
        here = f"{here}.{name}"
    return found


def refused(function: Any, call: ast.Call) -> str | None:
    """Why a function does not take the arguments of a call, as far as one sees; None if it does."""
    if not callable(function):
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    positional = [each for each in call.args if not isinstance(each, ast.Starred)]
    named = {each.arg: None for each in call.keywords if each.arg is not None}
    try:
        signature.bind_partial(*positional, **named)
    except TypeError as error:
        plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
        takes = signature.replace(parameters=plain, return_annotation=signature.empty)
        return f"{error}; tenferro's is {call_name(call)}{takes}"
    return None


def call_name(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


@cache
def computes_with_jax(package: str) -> bool:
    """Whether an installed package requires JAX."""
    for name in _distributions().get(package, ()):
        required = importlib.metadata.requires(name) or ()
        if any(re.match(r"jax(lib)?\b", each) for each in required):
            return name not in ("jax", "jaxlib", "tenferro")
    return False


@cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


# The rewriting of one program, or of the cells of one notebook.


@dataclass(frozen=True, slots=True)
class Patch:
    """A text that replaces what stands between two places, which are those of `ast`."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class Porter:
    """Rewrites sources that share their names.

    Args:
        own: packages that are rewritten too, and so are not remarked on.
        begin: lines to put before the first statement that imports JAX.
    """

    def __init__(self, own: frozenset[str] = frozenset(), begin: str = "") -> None:
        self.own, self.begin = own, begin
        self.names: dict[str, str] = {}  # of variables that hold something of JAX, and its path
        self.patches: list[Patch] = []
        self.remarks: list[Remark] = []

    def port(self, source: str, parsed: str | None = None) -> Ported:
        """The source for tenferro; `parsed` is what is read in its place, line by line."""
        self.patches, self.remarks = [], []
        try:
            tree = ast.parse(source if parsed is None else parsed)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            return Ported(source, (Remark(line, "the text", f"Python cannot read it: {error}"),))
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    self._import(node)
                case ast.ImportFrom(level=0, module=str(module)) if is_of_jax(module):
                    self._import_from(node, module, source)
                case ast.ImportFrom(level=0, module=str(module)):
                    self._library(node, module)
                case _:
                    pass
        Uses(self).visit(tree)
        self._begin(tree, source)
        text = patched(source, self.patches)
        return Ported(text, tuple(sorted(set(self.remarks), key=lambda each: each.line)))

    def _begin(self, tree: ast.Module, source: str) -> None:
        """Put the first lines before the first statement that imports JAX."""
        for statement in tree.body if self.begin else ():
            if any(map(imports_jax, ast.walk(statement))):
                end = "\r\n" if "\r\n" in source else "\n"
                place = (statement.lineno, statement.col_offset)
                self.patches.insert(0, Patch(place, place, self.begin.replace("\n", end)))
                self.begin = ""
                return

    def remark(self, node: ast.stmt | ast.expr | ast.alias, name: str, remedy: str) -> None:
        """Remark on a line."""
        self.remarks.append(Remark(node.lineno, name, remedy))

    def replace(self, node: ast.stmt | ast.expr | ast.alias, text: str) -> None:
        """Put a text in the place of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        self.patches.append(Patch(start, end, text))

    def _library(self, node: ast.stmt, module: str) -> None:
        name = module.partition(".")[0]
        if name not in self.own and computes_with_jax(name):
            remedy = "it computes with JAX; port the package too, see Coming from JAX"
            self.remark(node, name, remedy)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not is_of_jax(alias.name):
                self._library(node, alias.name)
                continue
            try:
                target, _ = counterpart(alias.name)
            except NoCounterpart as none:
                self.remark(node, alias.name, str(none))
                if alias.asname is None:
                    self.names["jax"] = "jax"
                    self.replace(alias, "tenferro as jax")
                continue
            if alias.asname is not None:
                self.names[alias.asname] = alias.name
                self.replace(alias, f"{target} as {alias.asname}")
            else:
                self.names["jax"] = "jax"
                module = "" if alias.name == "jax" else f"{target}, "
                self.replace(alias, f"{module}tenferro as jax")

    def _import_from(self, node: ast.ImportFrom, module: str, source: str) -> None:
        groups: dict[str, list[str]] = {}
        for alias in node.names:
            path = module if alias.name == "*" else f"{module}.{alias.name}"
            bound = alias.asname or alias.name
            try:
                target, _ = counterpart(path)
                self.names[bound] = path
            except NoCounterpart as none:
                self.remark(alias, path, f"it stays JAX's; {none}")
                target = path
            home, _, name = (f"{target}.*" if alias.name == "*" else target).rpartition(".")
            written = name if name == bound else f"{name} as {bound}"
            groups.setdefault(home, []).append(written)
        as_before = [
            each.name if each.asname in (None, each.name) else f"{each.name} as {each.asname}"
            for each in node.names
        ]
        if [*groups.values()] == [as_before]:  # layout and comments of the names stay
            found = re.compile(r"from[\s\\]+([\w.]+)").match(source, offset(source, node))
            if found is not None:
                start = (node.lineno, node.col_offset)
                text = found.group().replace(module, "".join(groups))
                end = end_of(start, found.group())
                self.patches.append(Patch(start, end, text))
                return
        statements = [f"from {home} import {', '.join(names)}" for home, names in groups.items()]
        self.replace(node, "; ".join(statements))


def is_of_jax(module: str) -> bool:
    """Whether a module is JAX or lies in it."""
    return module == "jax" or module.startswith("jax.")


def imports_jax(node: ast.AST) -> bool:
    """Whether a statement imports JAX or something of it."""
    match node:
        case ast.Import(names=names):
            return any(is_of_jax(alias.name) for alias in names)
        case ast.ImportFrom(level=0, module=str(module)):
            return is_of_jax(module)
        case _:
            return False


class Uses(ast.NodeVisitor):
    """Looks at each use of a name of JAX.

    A name that a function binds itself, as a parameter or by an assignment, is not JAX's in it.
    """

    def __init__(self, porter: Porter) -> None:
        self.porter = porter
        self.hidden: list[set[str]] = [set()]

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        stored = {
            each.id
            for statement in body
            for each in ast.walk(statement)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        for decorator in [] if isinstance(node, ast.Lambda) else node.decorator_list:
            self.visit(decorator)
        self.visit(node.args)
        self.hidden.append(self.hidden[-1] | arguments | stored)
        for part in body:
            self.visit(part)
        self.hidden.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        """Check the arguments of a function of JAX."""
        match node:
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(module)) as constant, *_],
            ) if is_of_jax(module):
                self._named_module(constant, module)
        path = self._path(node.func)
        if path is not None:
            try:
                function = counterpart(path)[1]
            except NoCounterpart:
                function = None  # the visit of the name remarks on it
            if function is not None and (why := refused(function, node)):
                self.porter.remark(node, path, why)
        self.generic_visit(node)

    def _named_module(self, constant: ast.Constant, module: str) -> None:
        try:
            self.porter.replace(constant, repr(counterpart(module)[0]))
        except NoCounterpart as none:
            self.porter.remark(constant, module, str(none))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Look up a name with dots."""
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
            return
        try:
            target, _ = counterpart(path)
        except NoCounterpart as none:
            self.porter.remark(node, path, str(none))
            return
        root = self._root()
        if path in MOVED and root is not None:
            self.porter.replace(node, f"{root}.{target.partition('.')[2]}")

    def _root(self) -> str | None:
        """The variable that holds the whole package."""
        names = self.porter.names
        return next((name for name, path in names.items() if path == "jax"), None)

    def _path(self, node: ast.expr) -> str | None:
        """The path of JAX that an expression is, such as `jax.numpy.sin` for `jnp.sin`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.hidden[-1]:
            return None
        held = self.porter.names.get(node.id)
        return None if held is None else ".".join([held, *reversed(parts)])


def offset(source: str, node: ast.stmt) -> int:
    """Where a statement begins in its source."""
    lines = lines_of(source)[: node.lineno]
    before = lines.pop().encode()[: node.col_offset].decode()
    return sum(map(len, lines)) + len(before)


def end_of(start: tuple[int, int], text: str) -> tuple[int, int]:
    """The place where a text ends that begins at another."""
    lines = lines_of(text)
    column = len(lines[-1].encode())
    return (start[0] + len(lines) - 1, column if len(lines) > 1 else start[1] + column)


def lines_of(source: str) -> list[str]:
    """The lines as `ast` counts them, with their ends."""
    return list(io.StringIO(source, newline=""))


def patched(source: str, patches: list[Patch]) -> str:
    """The source with all patches, which do not overlap."""
    lines = [each.encode() for each in lines_of(source)]
    for each in sorted(patches, key=lambda each: (each.start, each.end), reverse=True):
        (first, start), (last, end) = each.start, each.end
        before, after = lines[first - 1][:start], lines[last - 1][end:]
        lines[first - 1 : last] = [before + each.text.encode() + after]
    return b"".join(lines).decode()


# Files, notebooks, folders.

NOT_COPIED = ("__pycache__", ".*", "*.pyc", "*.so")
CELLS_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")


def port(arguments: argparse.Namespace) -> int:
    """Rewrite a file or folder, and list what is left; 1 if something is."""
    source = Path(arguments.source)
    output = None if arguments.output is None else Path(arguments.output)
    if not source.exists():
        raise CommandError(f"there is no file or folder {source}")
    if output is not None and source.resolve() in output.resolve().parents:
        raise CommandError(f"{output} is inside of {source}; write somewhere else")
    if source.is_dir() and output is None and not arguments.check:
        raise CommandError(f"{source} is a folder; say where to write with -o OUT, or --check")
    if not source.is_dir() and source.suffix not in PROGRAMS:
        raise CommandError(f"{source} is neither .py nor .ipynb")
    paths = programs(source)
    own = frozenset(each.stem for each in source.iterdir()) if source.is_dir() else frozenset()
    own |= {source.stem}
    results = {path: port_file(path, own, arguments.promotion == "jax") for path in paths}
    if output is not None and source.is_dir() and output.resolve() != source.resolve():
        ignored = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(source, output, ignore=ignored, dirs_exist_ok=True)
    for path, (done, data) in results.items():
        if output is not None:
            (output / path.relative_to(source) if source.is_dir() else output).write_bytes(data)
        elif not arguments.check:
            sys.stdout.write(done.text)
    report = sys.stdout if output is not None or arguments.check else sys.stderr
    remarks = [f"{path}:{each}" for path, (done, _) in results.items() for each in done.remarks]
    lines = {(path, each.cell, each.line) for path in paths for each in results[path][0].remarks}
    total = f"{counted(len(paths), 'file')}, {counted(len(lines), 'line')} to change by hand"
    print(*remarks, total, sep="\n", file=report)
    return 1 if remarks else 0


PROGRAMS = (".py", ".ipynb")


def programs(source: Path) -> list[Path]:
    """The programs of a folder, without what is hidden; or a file alone."""
    if source.is_file():
        return [source]
    found = (each for each in source.rglob("*") if each.suffix in PROGRAMS and each.is_file())
    return sorted(
        each
        for each in found
        if not any(part.startswith((".", "__py")) for part in each.relative_to(source).parts)
    )


def port_file(path: Path, own: frozenset[str], as_in_jax: bool) -> tuple[Ported, bytes]:
    """What becomes of a file, and its bytes, in the encoding it has.

    A module of a package, also in a folder of it that has no `__init__.py`, does not set dtypes:
    the program that imports it does.

    Raises:
        CommandError: it is no text, or no notebook.
    """
    data = path.read_bytes()
    folder = path.resolve().parent
    is_of_package = any((each / "__init__.py").exists() for each in (folder, folder.parent))
    porter = Porter(own, AS_IN_JAX if as_in_jax and not is_of_package else "")
    try:
        if path.suffix == ".ipynb":
            done = ported_notebook(data.decode("utf-8"), porter)
            return done, done.text.encode()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        done = porter.port(data.decode(encoding))
        return done, done.text.encode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"{path} is not a notebook: {error}") from None


def ported_notebook(text: str, porter: Porter) -> Ported:
    """A notebook with its code cells rewritten, which share their names."""
    notebook = json.loads(text)
    remarks: list[Remark] = []
    changed = False
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        written = cell["source"]
        source = written if isinstance(written, str) else "".join(written)
        if source.startswith("%%") and not source.startswith(CELLS_OF_PYTHON):
            continue
        done = porter.port(source, without_magic(source))
        remarks += [replace(each, cell=number) for each in done.remarks]
        if done.text != source:
            changed = True
            new = done.text if isinstance(written, str) else lines_of(done.text)
            cell["source"] = new
    if changed:
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return Ported(text, tuple(remarks))


def without_magic(source: str) -> str:
    """A cell whose lines that only IPython reads do nothing."""
    return re.sub(r"^([ \t]*)[%!?][^\n]*", r"\1pass", source, flags=re.MULTILINE)
