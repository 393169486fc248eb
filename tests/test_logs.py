"""What is logged, and where it goes: to the handlers of the program, else to standard error."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import tenferro as tn
from tenferro.config import Config
from tenferro.logs import StandardError, configure, handlers, logger

ROOT = Path(__file__).parents[1]
PROGRAM = """
import tenferro as tn
{setting}
print(tn.jit(lambda x: tn.sin(x) + 1, executor="numpy")(tn.zeros(2)).tolist())
"""
LONG = """
from tenferro_xla.compiled import compile_log
compile_log.SECONDS = 0.0
print(tn.jit(lambda x: tn.sin(x) + 1, executor="xla")(tn.zeros(2)).tolist())
"""
DEBUG_OF_ALL = "import logging; logging.basicConfig(level=logging.DEBUG)"
DEBUG_OF_PASSES = (
    "import logging; logging.basicConfig(); "
    "logging.getLogger('tenferro.dump.passes').setLevel(logging.DEBUG)"
)
WARNINGS_TO_A_FILE = "import logging; logging.basicConfig(filename={file!r})"


def stderr(program: str, **environ: str) -> str:
    """What a program, which prints its result, writes to standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={"PYTHONPATH": str(ROOT), "PATH": "", "JAX_PLATFORMS": "cpu", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "[1.0, 1.0]\n"
    return done.stderr


def test_compilations_are_logged_within_a_block(caplog: pytest.LogCaptureFixture) -> None:
    compilations = logger("compile")
    before = compilations.level
    with tn.log_compiles():
        tn.jit(lambda x: tn.sin(x) + 1.25, executor="xla")(tn.zeros(2))
    with tn.log_compiles(False):
        tn.jit(lambda x: tn.sin(x) + 1.5, executor="xla")(tn.zeros(2))
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert compilations.level == before


def test_nothing_is_written_unless_it_is_asked_for() -> None:
    assert stderr(PROGRAM.format(setting="")) == ""


def test_stages_that_are_asked_for_are_written_as_they_are() -> None:
    written = stderr(PROGRAM.format(setting=""), TENFERRO_DUMP="passes,exec")
    assert written.startswith("# pass ")
    assert "\nexec_program(%0: f64[2]) {\n" in written
    assert written.endswith("}\n")


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("environ", [{"TENFERRO_DUMP": "passes"}, {}], ids=["setting", "level"])
def test_handlers_of_the_program_get_the_stages(environ: dict[str, str]) -> None:
    written = stderr(PROGRAM.format(setting=DEBUG_OF_PASSES), **environ)
    assert written.startswith("DEBUG:tenferro.dump.passes:# pass ")
    assert "\n# pass" not in written  # nothing a second time


@pytest.mark.exhaustive
def test_debug_of_the_root_logger_prints_no_programs() -> None:
    assert "tenferro.dump" not in stderr(PROGRAM.format(setting=DEBUG_OF_ALL))


@pytest.mark.exhaustive
def test_a_long_compilation_is_said_once_wherever_the_program_wants_it(tmp_path: Path) -> None:
    program = "import tenferro as tn\n{setting}\n" + LONG
    text = "XLA is still compiling a program of 4 instructions."
    assert stderr(program.format(setting="")).startswith(f"tenferro.compile: {text}")
    file = tmp_path / "log"
    to_file = WARNINGS_TO_A_FILE.format(file=str(file))
    assert stderr(program.format(setting=to_file)) == ""
    assert file.read_text("utf-8").startswith(f"WARNING:tenferro.compile:{text}")


def test_a_level_of_the_program_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    passes, fragment, compiled = logger("dump.passes"), logger("dump.fragment"), logger("compile")
    monkeypatch.setattr(passes, "level", logging.INFO)
    monkeypatch.setattr(fragment, "level", logging.NOTSET)
    monkeypatch.setattr(compiled, "level", logging.NOTSET)
    configure(Config(dump=("passes", "fragment"), quiet=True))
    assert passes.level == logging.INFO
    assert fragment.level == logging.DEBUG
    assert compiled.level == logging.ERROR


def test_a_logger_that_does_not_propagate_has_its_own_handlers_only() -> None:
    apart = logging.Logger("apart")
    apart.parent = logging.getLogger("tenferro")
    assert any(isinstance(each, StandardError) for each in handlers(apart))
    apart.propagate = False
    apart.addHandler(logging.NullHandler())
    assert list(handlers(apart)) == []


RELOADED = """
import importlib, logging, tenferro.logs
for _ in range(2):
    importlib.reload(tenferro.logs)
assert len(logging.getLogger("tenferro").handlers) == 1
"""


@pytest.mark.exhaustive
def test_a_module_that_is_loaded_again_writes_each_record_once() -> None:
    written = stderr(RELOADED + PROGRAM.format(setting=""), TENFERRO_DUMP="exec")
    assert written == stderr(PROGRAM.format(setting=""), TENFERRO_DUMP="exec") != ""
