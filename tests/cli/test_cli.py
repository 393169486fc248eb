"""The command line: what it prints, what it writes, and how it refuses."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tenferro as tn
from tenferro.cli import main
from tenferro.cli.inspect import listing

SOURCE = """\
import tenferro as tn

def loss(w, x):
    return tn.mean(tn.square(tn.tanh(x @ w)))

def wrong(x):
    return x @ tn.zeros((7, 2))

def boom(x):
    return x[1 // 0]

def branch(x):
    return x if x > 0 else -x

def successor(n):
    return n + 1

def parts(d):
    return {"sum": tn.sum(d["a"]), "twice": d["a"] * 2}

def table(*xs):
    return xs[0] + xs[1]

def nothing(x):
    return None

def number(x):
    return 3

def rounds(xs):
    return tn.scan(lambda c, x: (tn.sin(c) + x, None), 0.5, xs)[0]

def leave(x):
    raise SystemExit(3)

three = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a file of functions, as the working directory."""
    (tmp_path / "model.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("import tenferro\n1 / 0\n")
    (tmp_path / "unread.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cli(command: str) -> int:
    """The exit code of a command line."""
    return main(command.split())


def test_the_demo_shows_every_stage_and_its_gradients_agree(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli("demo") == 0
    out = capsys.readouterr().out
    for piece in (
        "fragment(%0 = w, %1 = x)",
        "linear[active]",
        "graph(%0 = w",
        "exec_program(%0: f64[3], %1: f64[3,8], %2: f64[])",
        "pass transpose_folding",
        "stablehlo.dot_general",
        "jax.grad",
        "all gradients agree: max error",
    ):
        assert piece in out
    assert "# demo.py:2" in out


def test_the_doctor_reports_versions_executors_and_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli("doctor") == 0
    out = capsys.readouterr().out
    for piece in ("numpy", "jaxlib", "xla", "cpu:0", "TENFERRO_EXECUTOR", "all well"):
        assert piece in out


def test_inspect_prints_every_stage(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "inspect model.py:loss --shape 3 --shape n,3 --grad --size n=5"
    assert cli(command) == 0
    out = capsys.readouterr().out
    titles = [line.split(" -- ")[0] for line in out.splitlines() if " -- " in line]
    assert [title for title in titles if not title.startswith("# pass ")] == [
        "# fragment",
        "# linear fragment",
        "# transposed fragment",
        "# graph",
        "# program before passes",
        "# program",
        "# StableHLO",
    ]
    assert "f64[n,3]" in out
    assert "tensor<5x3xf64>" in out


def test_inspect_says_what_stablehlo_needs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli("inspect model.py:successor --shape n") == 0
    assert "not made: StableHLO needs the size n; give it with --size n=4" in (
        capsys.readouterr().out
    )


def test_inspect_lists_loops_and_shows_their_bodies(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("inspect model.py:rounds --shape n --size n=5") == 0
    out = capsys.readouterr().out
    listed = out[out.index("# loops and branches -- ") :].splitlines()[1]
    assert listed == "scan: n rounds of 2 instructions at model.py:31"
    assert "body(%0: f64[], %1: f64[]) {\n      %2: f64[] = sine %0!" in out
    assert "stablehlo.while" in out


def test_inspect_writes_one_page_that_needs_nothing_else(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("inspect model.py:loss --shape 3 --shape 4,3 --grad --html out.html") == 0
    page = (here / "out.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out == "wrote out.html\n"
    assert "loss(w: f64[3], x: f64[4,3])" in page
    (contents,) = re.findall("<nav>.*</nav>", page)
    assert page.count("<section") == page.count("</section>") == contents.count("<a ")
    assert "stablehlo.tanh" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert "instructions, " in page
    targets = re.findall(r'href="#([^"]*)"', page)
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    assert set(targets) <= set(ids)
    assert page.count("<rect") >= 10


def test_values_of_nested_programs_link_to_their_own_definitions() -> None:
    text = """
exec_program(%0: f64[<=n]) {
  %1: f64[] = scan %0 {  # loop.py:7
    body(%0: f64[]) {
      %1: f64[] = sine %0!
      return %1
    }
  }
  return %1
}"""
    shown = listing(text, "s", lambda file, line: f"#L{line}" if file == "loop.py" else None)
    assert '(<b id="s-1-0" data-value="s-1-0">%0</b>: f64[&lt;=n])' in shown
    assert 'sine <a href="#s-2-0" data-value="s-2-0">%0</a>!' in shown
    assert shown.endswith('return <a href="#s-1-1" data-value="s-1-1">%1</a>\n}')
    assert '<a href="#L7">loop.py:7</a>' in shown


def test_lower_prints_or_writes_stablehlo(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli("lower model.py:successor --shape 3 --dtype i64") == 0
    printed = capsys.readouterr().out
    assert "func.func public @main(%arg0: tensor<3xi64>" in printed
    assert cli("lower model.py:successor --shape 3 --dtype i64 -o out.mlir") == 0
    assert (here / "out.mlir").read_text().rstrip() == printed.rstrip()


def test_a_scalar_and_a_number_of_arguments_can_be_given(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("inspect model.py:table --shape () --shape 2 --dtype f32") == 0
    assert "exec_program(%0: f32[], %1: f32[2])" in capsys.readouterr().out


def test_run_prints_or_saves_the_leaves_of_the_result(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("d.npz", a=np.arange(3.0))
    assert cli("run model.py:parts d.npz --executor numpy") == 0
    assert capsys.readouterr().out == (
        "result['sum']: f64[]\n3.0\nresult['twice']: f64[3]\n[0. 2. 4.]\n"
    )
    assert cli("run model.py:parts d.npz -o out.npz") == 0
    with np.load("out.npz") as saved:
        np.testing.assert_array_equal(saved["result['twice']"], [0.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("inspect nofile.py:f", "tenferro inspect: there is no file nofile.py"),
        (
            "inspect model.py",
            "tenferro inspect: 'model.py' is not of the form .*",
        ),
        ("inspect nofile.tn", "tenferro inspect: there is no file nofile.tn"),
        ("inspect folder.py:f", "tenferro inspect: folder.py is a directory"),
        ("inspect :f", "tenferro inspect: ':f' is not of the form .*"),
        ("inspect model.py:leave --shape 2", "tenferro inspect: leave raised SystemExit: 3 .*"),
        ("run model.py:leave x.npy", "tenferro run: leave raised SystemExit: 3 (model.py:34)"),
        ("verify nofile", "tenferro verify: file: nofile cannot be read: No such file .*"),
        ("verify folder.py", "tenferro verify: file: folder.py cannot be read: Is a directory"),
        ("inspect model.py:nope", "tenferro inspect: model.py defines no nope"),
        (
            "inspect model.py:three",
            "tenferro inspect: three of model.py is not a function, but of type int",
        ),
        (
            "lower broken.py:f",
            "tenferro lower: broken.py cannot be imported: "
            "ZeroDivisionError: division by zero (broken.py:2)",
        ),
        ("lower unread.py:f", r"tenferro lower: unread.py cannot be imported: SyntaxError: .*"),
        ("inspect model.py:loss --shape 3", "tenferro inspect: loss does not take 1 argument .*"),
        (
            "inspect model.py:wrong --shape 3,4",
            "tenferro inspect: matmul: axis 1 of f64[3,4] and axis 0 of f64[7,2] .*",
        ),
        (
            "inspect model.py:boom --shape 3",
            "tenferro inspect: boom raised ZeroDivisionError: .* (model.py:10)",
        ),
        ("inspect model.py:branch --shape ()", "tenferro inspect: bool() of a traced value .*"),
        ("inspect model.py:nothing --shape 2", "tenferro inspect: nothing returns no array"),
        ("inspect model.py:number --shape 2", "tenferro inspect: number returns an int, .*"),
        (
            "inspect model.py:successor --shape 3 --dtype i64 --grad",
            "tenferro inspect: successor has no floating-point or complex argument .*",
        ),
        (
            "run model.py:loss x.npy",
            "tenferro run: loss does not take 1 argument .*; give one INPUT for each",
        ),
        (
            "run saved.tn a.npz",
            "tenferro run: a.npz is a dict of arrays, and a saved program takes arrays; .*",
        ),
        ("doctor --json --gpu", "tenferro doctor: --json does not go with --gpu, .*"),
        (
            "inspect model.py:loss --shape 3 --shape 4,3 --dtype f32 --dtype f32 --dtype f32",
            "tenferro inspect: 3 --dtype for 2 --shape; give one, or one each",
        ),
        ("inspect model.py:successor --shape 3 --html no/o.html", "tenferro inspect: no/o.html .*"),
        ("lower model.py:successor --shape n", "tenferro lower: StableHLO needs the size n; .*"),
        (
            "lower model.py:successor --shape 3 --size m=2",
            "tenferro lower: no shape mentions the size m",
        ),
        (
            "lower model.py:successor --shape n --size n=3 --size n=4",
            "tenferro lower: --size n has two values, 3 and 4",
        ),
        (
            "lower model.py:successor --shape 99999999999,99999999999",
            "tenferro lower: .* more than the budget of .*",
        ),
        ("run model.py:successor no.npy", "tenferro run: there is no file no.npy"),
        ("run model.py:successor model.py", "tenferro run: model.py is neither .npy nor .npz"),
        (
            "run model.py:successor text.npy",
            "tenferro run: text.npy holds no arrays: it does not begin as NumPy's files do",
        ),
        ("run model.py:successor cut.npy", "tenferro run: cut.npy holds no arrays: .*"),
        ("run model.py:successor cut.npz", "tenferro run: cut.npz holds no arrays: .*"),
        ("run model.py:successor bad.npz", "tenferro run: bad.npz holds no arrays: .*"),
        ("run model.py:successor no.npz", "tenferro run: there is no file no.npz"),
        ("run model.py:successor f.npy", "tenferro run: f.npy cannot be read: Is a directory"),
        (
            "run model.py:successor --executor abacus x.npy",
            "tenferro run: executor: no executor is named 'abacus'; installed: numpy, xla",
        ),
        ("run model.py:successor x.npy -o out.txt", "tenferro run: out.txt is not an .npz file"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    command: str, text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("text.npy").write_text("no array")
    tn.save(tn.make_program(tn.sin, tn.TensorSpec((200,))), "saved.tn")
    np.save("x.npy", np.ones(2))
    np.savez_compressed("a.npz", a=np.ones(200))
    Path("cut.npy").write_bytes(Path("x.npy").read_bytes()[:-3])
    Path("cut.npz").write_bytes(Path("a.npz").read_bytes()[:100])
    data = Path("a.npz").read_bytes()
    Path("bad.npz").write_bytes(data[:50] + bytes(20) + data[70:])
    Path("folder.py").mkdir()
    Path("f.npy").mkdir()
    assert cli(command) == 2
    err = capsys.readouterr().err
    assert re.fullmatch(pattern(text), err), err


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("", "tenferro: the following arguments are required: COMMAND; see tenferro --help"),
        ("nonsense", "tenferro: argument COMMAND: invalid choice: 'nonsense' .*"),
        ("demo --fast", "tenferro: unrecognized arguments: --fast; see tenferro --help"),
        (
            "inspect model.py:loss --shape 3x,2",
            "tenferro inspect: argument --shape: '3x,2' is not a shape: '3x' is neither .*",
        ),
        (
            "inspect model.py:loss --dtype q7",
            "tenferro inspect: argument --dtype: 'q7' is not a dtype; .*",
        ),
        ("inspect model.py:loss --html=", "tenferro inspect: argument --html: the name of .*"),
        (
            "lower model.py:loss --size n",
            "tenferro lower: argument --size: 'n' is not of the form NAME=SIZE; .*",
        ),
    ],
)
def test_a_command_line_that_cannot_be_read_is_refused_in_one_line(
    command: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        cli(command)
    assert exit_info.value.code == 2
    assert re.fullmatch(pattern(text), capsys.readouterr().err)


def pattern(text: str) -> str:
    """One line in which `.*` stands for any text."""
    return ".*".join(map(re.escape, text.split(".*"))) + "\n"


def test_the_module_runs_as_the_script_does() -> None:
    done = python_m("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tenferro 0.")


def test_a_setting_that_cannot_be_read_is_said_in_one_line() -> None:
    done = python_m("doctor", TENFERRO_VERIFY="perhaps")
    assert done.returncode == 2
    assert done.stderr == "tenferro: TENFERRO_VERIFY: expected 0 or 1, got 'perhaps'\n"


def test_ops_of_a_saved_program_have_no_line_of_the_script(here: Path) -> None:
    tn.save(tn.make_program(lambda x: tn.sin(x) + 1, tn.TensorSpec((3,))), "saved.tn")
    Path("script").write_text("from tenferro.cli import main\nmain()\n")
    command = [sys.executable, "script", "inspect", "saved.tn"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "sine %0\n" in done.stdout
    assert "#  script" not in done.stdout
    assert "script:" not in done.stdout


def python_m(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tenferro", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command", ["verify program", pytest.param("demo", marks=pytest.mark.exhaustive)]
)
def test_what_nobody_reads_or_no_disk_holds_is_no_traceback(command: str, here: Path) -> None:
    tn.save(tn.make_program(tn.sin, tn.TensorSpec((2,))), here / "program")
    words = [sys.executable, "-m", "tenferro", *command.split()]
    full = Path("/dev/full")
    if full.exists():
        with full.open("w") as target:
            done = subprocess.run(
                words, stdout=target, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        name = command.split()[0]
        assert done.stderr == f"tenferro {name}: standard output: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_is_said_in_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "stopped.py").write_text("def f(x):\n    raise KeyboardInterrupt\n")
    assert cli("inspect stopped.py:f --shape 2") == 130
    assert capsys.readouterr().err == "tenferro inspect: interrupted\n"


@pytest.mark.exhaustive
def test_letters_that_the_output_lacks_and_no_width_are_no_errors() -> None:
    done = python_m("doctor", PYTHONIOENCODING="ascii", COLUMNS="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "all well" in done.stdout
    assert "cpu:0" in done.stdout


def test_a_source_in_another_encoding_is_shown(here: Path) -> None:
    text = "# coding: latin-1\ndef f(x):\n    return x  # \xe9t\xe9\n"
    (here / "old.py").write_text(text, encoding="latin-1")
    assert cli("inspect old.py:f --shape 2 --html out.html") == 0
    assert "\xe9t\xe9" in (here / "out.html").read_text("utf-8")
