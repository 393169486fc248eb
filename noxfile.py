"""The checks of this repository: `nox -l` lists them, `nox -s NAME` runs one.

Sessions use the environment nox itself is installed in (`pip install -e ".[test,docs]"`). Only
`matrix`, `minimum`, `newest`, `package` and `no_jax` make environments of their own. The
distribution under examples is installed by the sessions that need it, if it is not there.
"""

import importlib.util
import os
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.sessions = [
    "lint",
    "types",
    "imports",
    "tests",
    "exhaustive",
    "walks",
    "coverage",
    "no_jax",
    "docs",
]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"

GENERIC_CORE = ["core"]
EXTENSION = "examples/tenferro-ext-tropical"
SUITE = "https://github.com/data-apis/array-api-tests"
PAGES = "docs/_build/html"
COMPILED_ONCE = {"PYTHONDONTWRITEBYTECODE": None}  # tests start many processes of the same sources
SAME_EVERYWHERE = [  # they read the sources, call mypy, or run whole programs of what others test
    "tests/test_benchmarks.py",
    "tests/test_examples.py",
    "tests/test_facts_about_ops.py",
    "tests/test_layout.py",
    "tests/typing",
]
USER_TYPES = "tests/typing/test_user_code.py"  # checkers on programs of a user: a part of `types`
SMOKE = [  # a minute of what other versions of NumPy, SciPy and JAX would break
    *("tests/linalg/test_general.py", "tests/runtime/test_executor.py"),
    *("tests/serialization/test_programs.py", "tests/tenferro_xla/test_executor.py"),
    *("tests/transforms/test_grad_against_jax.py", "tests/transforms/test_jit.py"),
]
FOR_SMOKE = ("hypothesis", "pytest>=9")
SAMPLE = ["tests/ops/test_random_programs.py", "tests/tenferro_xla/lowering"]  # for a device
WITHOUT_JAX = [
    *(*GENERIC_CORE, "ir", "ops/control_flow", "compiler"),
    *(f"runtime/test_{name}.py" for name in ("blas_threads", "executor", "without_jax")),
]


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Rules and format of the source."""
    here(session, "ruff", "check")
    here(session, "ruff", "format", "--check")


@nox.session(python=False)
def types(session: nox.Session) -> None:
    """Strict types of all packages; what mypy and pyright say of programs that use them."""
    install_extension(session)
    here(session, "mypy")
    here(session, "pytest", "-q", USER_TYPES)


@nox.session(python=False)
def imports(session: nox.Session) -> None:
    """Layers and forbidden imports."""
    here(session, "lint-imports")


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Tests, doctests, pages of the docs and examples, on this Python."""
    install_extension(session)
    pytest = ("pytest", "-n", "2", "--dist", "worksteal", f"--ignore={USER_TYPES}")
    here(session, *pytest, *session.posargs)


@nox.session(python=False)
def exhaustive(session: nox.Session) -> None:
    """Tests of further types and cases, which take as long as all others."""
    install_extension(session)
    here(session, "pytest", "--exhaustive", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session(python=False)
def large(session: nox.Session) -> None:
    """The generators of tests at their large sizes, for changes to what they check."""
    install_extension(session)
    here(session, "pytest", "--large", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13"])
def matrix(session: nox.Session) -> None:
    """What depends on Python or on JAX, on every Python that is installed: `matrix-3.13`."""
    session.install("-e", ".[test]", "-e", EXTENSION)
    left_out = [f"--ignore={path}" for path in SAME_EVERYWHERE]
    pytest = ("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *left_out)
    session.run(*pytest, *session.posargs)


@nox.session(python=False)
def coverage(session: nox.Session) -> None:
    """The generic core is covered by its own tests, which know nothing of tensors."""
    paths = [f"tests/{name}" for name in GENERIC_CORE]
    here(session, "pytest", *paths, "-m", "not slow", "--cov")


@nox.session(python="3.11")
def minimum(session: nox.Session) -> None:
    """The least version of every dependency, on the oldest Python."""
    session.install("-e", ".", *(each.replace(">=", "==") for each in required()), *FOR_SMOKE)
    smoke(session)


@nox.session(python=["3.12", "3.13", "3.14", "3.14t"])
def newest(session: nox.Session) -> None:
    """The newest version of every dependency, on every Python that is installed."""
    eagerly = ("--upgrade", "--upgrade-strategy", "eager")
    session.install(*eagerly, "-e", ".", *FOR_SMOKE)
    smoke(session)


def smoke(session: nox.Session) -> None:
    """What is installed, and a minute of tests with it."""
    session.run("tenferro", "doctor")
    session.run("python", "-m", "pytest", "-q", "-m", "not slow", *SMOKE, *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """What is uploaded: the sdist, the wheel made of it, and a trial of the wheel as installed.

    They stay in `dist/`. The trial runs outside of the tree, in a fresh environment.
    """
    session.install("build", "check-wheel-contents", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", silent=True)
    built = sorted(map(str, Path("dist").resolve().iterdir()))
    wheel = next(path for path in built if path.endswith(".whl"))
    session.run("twine", "check", "--strict", *built)
    session.run("check-wheel-contents", wheel)
    trial = str(Path("tests/trial.py").resolve())
    session.chdir(session.create_tmp())
    session.run("python", "-m", "venv", "--clear", "user")
    user = str(Path("user", "bin", "python").absolute())
    session.run(user, "-m", "pip", "install", "--quiet", wheel, external=True)
    session.run(user, "-I", trial, external=True)


@nox.session
def no_jax(session: nox.Session) -> None:
    """Everything up to the NumPy executor imports and works where jax is not installed."""
    without = (each for each in required() if not each.startswith("jax"))
    session.install(*without, *FOR_SMOKE)
    session.install("--no-deps", "-e", ".")
    session.run("python", "-c", "import tenferro")
    pytest = ("pytest", "-m", "not slow", "--programs", "10", "--cases", "3")
    session.run("python", "-m", *pytest, *(f"tests/{name}" for name in WITHOUT_JAX))


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """The documentation builds without a warning; links, search and sizes of its pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    read = ("-d", "docs/_build/doctrees")
    here(session, "sphinx-build", "-W", "--keep-going", "-q", *read, "docs", PAGES)
    session.run(sys.executable, "-m", "tests.docs.built", PAGES)


@nox.session(python=False)
def browser(session: nox.Session) -> None:
    """The built pages in a Chromium: that of the system, or at the path after `--`.

    Needs `pip install playwright`, and pages that `nox -s docs` has built.
    """
    if importlib.util.find_spec("playwright") is None:
        session.error("no playwright: pip install playwright, then nox -s browser")
    if not Path(PAGES).is_dir():
        session.error("no pages: nox -s docs builds them")
    session.run(sys.executable, "-m", "tests.docs.browser", PAGES, *session.posargs)


@nox.session(python=False)
def pictures(session: nox.Session) -> None:
    """The pictures of the gallery, all or those named after `--`, drawn again by matplotlib."""
    session.run(sys.executable, "docs/draw_pictures.py", *session.posargs)


@nox.session(python=False)
def walks(session: nox.Session) -> None:
    """How far calls travel: functions, modules, changes of room, depth, each within its budget."""
    session.run(sys.executable, "-m", "tests.walks")


@nox.session(python=False)
def bench(session: nox.Session) -> None:
    """Every benchmark, or those named after `--`, in one table; `-- --help` has its options."""
    session.run(sys.executable, "tests/benchmarks/support/run.py", *session.posargs)


@nox.session(python=False)
def gpu(session: nox.Session) -> None:
    """What someone with a GPU runs: `tenferro doctor --gpu`, then a sample of the tests there.

    Options after `--` go to the doctor: `-- --device cpu:0 --small` tries all of it on the CPU.
    """
    options = ArgumentParser(add_help=False)
    options.add_argument("--device", default="gpu")
    device = options.parse_known_args(session.posargs)[0].device
    failed = []
    for tool, *arguments in (
        ("tenferro", "doctor", "--gpu", *session.posargs),
        ("pytest", "-q", "--device", device, "--programs", "30", "--cases", "2", *SAMPLE),
    ):
        try:
            here(session, tool, *arguments)
        except CommandFailed:
            failed.append(tool)
    if failed:
        session.error(f"{' and '.join(failed)} found something wrong")


@nox.session(python=False)
def array_api(session: nox.Session) -> None:
    """The public suite of the array API standard, from the checkout named after `--`.

    The folder may also be in ARRAY_API_TESTS. `tests/array_api/exceptions.txt` has what is not
    expected to pass, with reasons. Further arguments go to pytest.
    """
    folder, *options = session.posargs or [os.environ.get("ARRAY_API_TESTS", "")]
    if not folder or not Path(folder, "array_api_tests").is_dir():
        session.error(
            f"no checkout of the suite at {folder!r}: git clone --recursive {SUITE}, pip install "
            "-r array-api-tests/requirements.txt, then nox -s array_api -- array-api-tests"
        )
    root = Path(__file__).parent
    session.chdir(folder)
    session.run(
        *(sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider"),
        *("--max-examples", "5", "--hypothesis-disable-deadline"),
        *("--xfails-file", str(root / "tests/array_api/exceptions.txt"), *options),
        env={"ARRAY_API_TESTS_MODULE": "tenferro", "PYTHONPATH": search_path(root)},
    )


@nox.session(python=False)
def ports(session: nox.Session) -> None:
    """What others wrote for JAX: programs, libraries with their tests, pages of documentation.

    `tenferro port` rewrites them. Needs `pip install -e ".[test,ports]"`. What is published without
    its tests runs from checkouts, which are named after `--`: `-- jax=FOLDER jaxopt=FOLDER
    autograd=FOLDER autoray=FOLDER quimb=FOLDER`. JAX's is at the tag of the installed version;
    quimb's source distribution has its tests.
    """
    checkouts = {
        name: Path(path) for name, _, path in (each.partition("=") for each in session.posargs)
    }
    runs = [
        ("pytest", "-q", "tests/ports/agreement.py"),
        ("tests.ports.suites", "optax"),
        ("tests.ports.array_libraries",),
    ]
    for library in {"autoray", "quimb"} & checkouts.keys():
        runs[-1] += (f"--{library}", str(checkouts[library] / "tests"))
    if "jaxopt" in checkouts:
        tests = str(checkouts["jaxopt"] / "tests")
        runs.append(("tests.ports.suites", "jaxopt", "--jax", "--tests", tests))
    if "autograd" in checkouts:
        runs.append(
            ("tests.ports.suites", "autograd", "--tests", str(checkouts["autograd"] / "tests"))
        )
    if "jax" in checkouts:
        runs.append(("tests.ports.pages", str(checkouts["jax"] / "docs")))
        runs.append(("tests.ports.jax_tests", str(checkouts["jax"] / "tests")))
    failed = []
    for module, *arguments in runs:
        try:
            session.run(sys.executable, "-m", module, *arguments)
        except CommandFailed:
            failed.append(" ".join((module, *arguments[:1])))
    if failed:
        session.error(f"{', '.join(failed)}: something fails that the lists in tests/ports lack")


def required() -> list[str]:
    """The dependencies with their lower bounds, as pyproject.toml has them."""
    dependencies: list[str] = nox.project.load_toml("pyproject.toml")["project"]["dependencies"]
    return dependencies


def search_path(root: Path) -> str:
    """This repository before what is on PYTHONPATH."""
    return os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))


def install_extension(session: nox.Session) -> None:
    """Install the example of an extension into the environment nox is installed in."""
    if importlib.util.find_spec("tenferro_ext_tropical") is None:
        pip = (sys.executable, "-m", "pip", "install", "--quiet")
        session.run(*pip, "--no-deps", "-e", EXTENSION)


def here(session: nox.Session, tool: str, *args: str) -> None:
    """Run a tool of the environment nox is installed in, whatever PATH says."""
    session.run(str(Path(sys.executable).with_name(tool)), *args, env=COMPILED_ONCE)
