"""The pages of the reference: one for each package, and parts of those that have many names.

The functions of `tenferro` have a part for each row of the table in `functions.md`. A package with
`__all__` that names more than `MANY` things has a part for each module that declares some of them,
and a package without `__all__` one for each of its modules. The page of a package lists its parts
with their names. Parts are in no table of contents, so that the navigation stays short.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import tenferro

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference" / "generated"
MANY = 100
ROW = re.compile(r"^\| ([a-z][^|]*?) \| (.*?) \|$", re.MULTILINE)
NAME = re.compile(r"`([\w.]+)`")
PART = "parts-of-"
ORPHAN = "---\norphan: true\n---\n"
INNER = [  # doors within packages that are doors themselves
    "tenferro.experimental.ode",
    "tenferro.nn.initializers",
    "tenferro.lax.linalg",
    "tenferro.scipy.cluster.vq",
    "tenferro.scipy.fft",
    "tenferro.scipy.integrate",
    "tenferro.scipy.interpolate",
    "tenferro.scipy.linalg",
    "tenferro.scipy.ndimage",
    "tenferro.scipy.optimize",
    "tenferro.scipy.signal",
    "tenferro.scipy.sparse.linalg",
    "tenferro.scipy.special",
    "tenferro.scipy.stats",
]
ALIASES = {"tenferro.lax", "tenferro.numpy"}  # `tn` has the names of NumPy; lax is JAX's

Described = dict[type, str]
"""The page that describes a class, for the pages of others that export it too."""


def all_pages() -> Iterator[tuple[str, str]]:
    """Every page by its name."""
    inner = (module.name for module in pkgutil.iter_modules(tenferro.__path__, "tenferro."))
    doors = [name for name in inner if "._" not in name and name not in ALIASES]
    described: Described = {}
    for name in ["tenferro", *doors, *INNER, "tenferro_xla"]:
        module = importlib.import_module(name)
        if hasattr(module, "__all__") or not hasattr(module, "__path__"):
            yield from pages_of_names(name, module, described)
        else:
            yield from pages_of_modules(name, module, described)


def pages_of_modules(
    name: str, package: ModuleType, described: Described
) -> Iterator[tuple[str, str]]:
    """The page of a package that exports nothing: its modules, or links to a page for each."""
    found = [each.name for each in pkgutil.iter_modules(package.__path__, f"{name}.")]
    modules = {each: importlib.import_module(each) for each in found}
    names = {each: list(getattr(module, "__all__", ())) for each, module in modules.items()}
    lines = []
    if sum(map(len, names.values())) <= MANY:
        for each, module in modules.items():
            lines.append(body(each, module, names[each], name, described).replace("# ", "## ", 1))
    else:
        for each, public in names.items():
            page = PART + each
            yield page, ORPHAN + body(each, modules[each], public, page, described)
            lines.append(item(each, page, each, public))
    yield name, f"# {name}\n\n{package.__doc__}\n\n{''.join(lines)}"


def pages_of_names(
    name: str, module: ModuleType, described: Described
) -> Iterator[tuple[str, str]]:
    """The page of a package, and its parts if it has many names."""
    public = list(getattr(module, "__all__", ()))
    rest, listed = public, []
    for title, names in parts(name, module, public):
        page = f"{PART}{name}.{title.replace(' ', '-')}"
        rest = [each for each in rest if each not in names]
        described.update(
            (value, page)
            for each in names
            if isinstance(value := getattr(module, each), type) and value not in described
        )
        yield page, part(name, module, title, names)
        listed.append(item(title, page, name, names))
    text = body(name, module, rest, name, described)
    yield name, text + (f"\n## By topic\n\n{''.join(listed)}" if listed else "")


def parts(name: str, module: ModuleType, public: list[str]) -> list[tuple[str, list[str]]]:
    """The titles of the parts of a page, with the functions and classes that each describes."""
    if len(public) <= MANY:
        return []
    values = {each: getattr(module, each) for each in public}
    if name == "tenferro":
        functions = {each for each, value in values.items() if inspect.isfunction(value)}
        table = ROW.findall((DOCS / "functions.md").read_text("utf-8"))
        left, found = set(functions), []
        for title, cell in table:
            names = [each for each in re.findall(r"`(\w+)`", cell) if each in left]
            left.difference_update(names)
            found.append((title, names))
        targets = {values[each] for each in functions - left}
        aliases = [each for each in public if each in left and values[each] in targets]
        others = [each for each in public if each in left and each not in aliases]
        found += [("transforms and programs", others), ("other names of functions", aliases)]
        return [(title, names) for title, names in found if len(names) > 1]
    groups: dict[str, list[str]] = {}
    for each, value in values.items():
        if inspect.isfunction(value) or (isinstance(value, type) and is_ours(value)):
            groups.setdefault(value.__module__.rpartition(".")[2], []).append(each)
    return sorted(groups.items())


def is_ours(value: type) -> bool:
    """Whether a class is declared here."""
    return value.__module__.startswith("tenferro")


def part(name: str, module: ModuleType, title: str, names: list[str]) -> str:
    """The page of some functions and classes; what has two names is described under the first."""
    homes: dict[Any, str] = {}
    for each in names if name != "tenferro" else tenferro.__all__:
        if inspect.isfunction(value := getattr(module, each)) or isinstance(value, type):
            homes.setdefault(value, each)
    if name == "tenferro":  # the table of functions comes before the order of the alphabet
        table = " ".join(
            cell for _, cell in ROW.findall((DOCS / "functions.md").read_text("utf-8"))
        )
        for each in reversed(re.findall(r"`(\w+)`", table)):
            if inspect.isfunction(value := getattr(module, each, None)):
                homes[value] = each
    lines = [f".. currentmodule:: {name}\n"]
    for each in names:
        value = getattr(module, each)
        if homes[value] != each:
            lines.append(
                f".. py:function:: {each}\n\n   Another name of :py:obj:`{homes[value]}`.\n"
            )
        elif inspect.isfunction(value):
            lines.append(f".. autofunction:: {each}\n")
        else:
            kind = "exception" if issubclass(value, BaseException) else "class"
            lines.append(f".. auto{kind}:: {each}\n   :members:\n")
    text = "\n".join(lines)
    return f"{ORPHAN}# {name}: {title}\n\n```{{eval-rst}}\n{text}```\n"


def body(name: str, module: ModuleType, names: list[str], page: str, described: Described) -> str:
    """The page of a module. A class described before is only named."""
    public = {each: getattr(module, each) for each in names}
    classes = {each: value for each, value in public.items() if isinstance(value, type)}
    numpys = sorted(each for each, value in classes.items() if value.__module__ == "numpy")
    elsewhere = {
        each: described[value]
        for each, value in classes.items()
        if value in described and each not in numpys
    }
    described.update((value, page) for value in classes.values() if value not in described)
    also = "".join(
        f"* `{each}`: see [{home.removeprefix(PART)}]({home}.md)\n"
        for each, home in elsewhere.items()
    )
    also += "".join(f"* `{each}`: that of NumPy\n" for each in numpys)
    left_out = ["__version__", *elsewhere, *numpys]
    if len(names) < len(getattr(module, "__all__", ())):  # the others are on other pages
        members = f"   :members: {', '.join(each for each in names if each not in left_out)}\n"
    else:
        members = f"   :members:\n   :exclude-members: {', '.join(left_out)}\n"
    text = f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n{members}```\n"
    return text + (f"\nAlso here:\n\n{also}" if also else "")


def item(title: str, page: str, module: str, names: Iterable[str]) -> str:
    """A line of a list: the title of a part, and its names, each with a link."""
    links = " ".join(f"{{py:obj}}`{each} <{module}.{each}>`" for each in names)
    return f"* [{title}]({page}.md): {links}\n"


def with_links(table: str) -> str:
    """The table of `functions.md`, where each name leads to its description."""
    names = set(tenferro.__all__)

    def linked(name: re.Match[str]) -> str:
        head = name[1].split(".")[0]
        return f"{{py:obj}}`{name[1]} <tenferro.{name[1]}>`" if head in names else name[0]

    return ROW.sub(lambda row: f"| {row[1]} | {NAME.sub(linked, row[2])} |", table)
