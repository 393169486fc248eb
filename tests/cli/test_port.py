"""`tenferro port`: what it rewrites, what it leaves, what it lists, and how it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from tenferro.cli import main
from tenferro.cli.port import (
    AS_IN_JAX,
    ELSEWHERE,
    MOVED,
    Ported,
    Porter,
    counterpart,
    ported,
    ported_notebook,
)


def rewritten(source: str) -> Ported:
    return ported(source, promotion="numpy")


IMPORTS = [
    ("import jax", "import tenferro as jax"),
    ("import jax as j", "import tenferro as j"),
    ("import jax.numpy as jnp", "import tenferro.numpy as jnp"),
    ("import jax.numpy", "import tenferro.numpy, tenferro as jax"),
    ("import os, jax, jax.numpy as jnp", "import os, tenferro as jax, tenferro.numpy as jnp"),
    ("from jax import numpy as jnp, lax", "from tenferro import numpy as jnp, lax"),
    ("from jax.scipy.special import erf", "from tenferro.scipy.special import erf"),
    ("from jax.numpy import *", "from tenferro.numpy import *"),
    ("from   jax  import jit", "from   tenferro  import jit"),
    ("from jax import (  # transforms\n    jit,\n    grad,  # twice\n)", None),
    ("if True: from jax import jit; x = 1", "if True: from tenferro import jit; x = 1"),
    ("é = 'ü'; import jax; ö = 'jax'", "é = 'ü'; import tenferro as jax; ö = 'jax'"),
    ("import jaxlib, my.jax\nfrom .jax import f\nimport jaxtools", "as it is"),
    ("# import jax\n'''\nimport jax\n'''", "as it is"),
    ("import importlib\nimportlib.import_module('jax.numpy')", None),
    ("from jax.experimental.jet import jet", "from tenferro import jet"),
    ("from jax.core import Tracer", "from tenferro import TracedTensor as Tracer"),
    ("import jax\r\nx = 1\r\n", "import tenferro as jax\r\nx = 1\r\n"),
]


@pytest.mark.parametrize(("source", "expected"), IMPORTS)
def test_imports_are_rewritten_and_all_other_text_stays(source: str, expected: str | None) -> None:
    done = rewritten(source)
    if expected is None:
        expected = source.replace("jax", "tenferro")
    assert done.text == (source if expected == "as it is" else expected)
    assert done.remarks == ()


def test_names_of_a_line_go_where_they_are() -> None:
    done = rewritten("from jax.experimental import enable_x64, pallas as pl\n")
    assert done.text == (
        "from tenferro import enable_x64; from jax.experimental import pallas as pl\n"
    )
    (remark,) = done.remarks
    assert str(remark).startswith("1: jax.experimental.pallas: it stays JAX's; an op of your own")


@pytest.mark.parametrize(
    ("before", "imports"),
    [
        ("", "import jax\n"),
        ('"""Text."""\nfrom __future__ import annotations\nimport os\n', "from jax import jit\n"),
        ("x = 1; ", "import jax; y = 2\n"),
        ("", "try:\n    import jax\nexcept ImportError:\n    import jax.numpy\n"),
    ],
)
def test_a_program_sets_the_dtypes_of_jax_before_it_imports(before: str, imports: str) -> None:
    done = ported(before + imports)
    assert done.text == before + AS_IN_JAX + rewritten(imports).text
    compile(done.text, "program", "exec")
    assert ported("import os\n").text == "import os\n"


def test_names_that_have_moved_are_rewritten_where_they_are_used() -> None:
    done = rewritten("import jax\nisinstance(x, jax.core.Tracer)\n")
    assert done.text == "import tenferro as jax\nisinstance(x, jax.TracedTensor)\n"
    assert done.remarks == ()


def test_what_is_left_is_listed_with_its_line_and_remedy() -> None:
    source = "import jax\nfrom jax import lax\n\njax.live_arrays()\nlax.scan(f, 0, xs, turns=3)\n"
    first, second = rewritten(source).remarks
    assert str(first) == "4: jax.live_arrays: arrays are freed when nothing refers to them"
    assert second.line == 5
    assert second.remedy.startswith(
        "got an unexpected keyword argument 'turns'; tenferro's is scan("
    )


def test_names_that_a_function_binds_are_not_those_of_jax() -> None:
    source = "from jax import lax\ndef f(lax):\n    return lax.nothing\ndef g():\n    lax.nothing\n"
    assert [remark.line for remark in rewritten(source).remarks] == [5]


def test_attributes_of_classes_and_functions_are_not_looked_for() -> None:
    assert rewritten("import jax\njax.Array.at\njax.numpy.add.reduce\n").remarks == ()


def test_a_text_that_python_cannot_read_stays() -> None:
    done = rewritten("import jax\nprint 3\n")
    assert done.text == "import jax\nprint 3\n"
    assert str(done.remarks[0]).startswith("2: the text: Python cannot read it: ")


def test_a_package_that_computes_with_jax_is_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenferro.cli.port.computes_with_jax", lambda name: name == "optax")
    assert [
        remark.name for remark in rewritten("import optax\nfrom numpy import pi\n").remarks
    ] == ["optax"]


@pytest.mark.parametrize("path", [*MOVED, "jax.numpy.linalg.inv", "jax.tree_util.tree_map"])
def test_each_counterpart_is_there(path: str) -> None:
    target, found = counterpart(path)
    assert target.startswith("tenferro.")
    assert found is not None


def test_rows_are_of_modules_and_names_of_jax() -> None:
    for path in ELSEWHERE:
        assert path.startswith("jax.")
    for path in MOVED:
        assert path not in ELSEWHERE


def notebook(*cells: str | list[str]) -> str:
    code = [{"cell_type": "code", "source": each, "outputs": [], "metadata": {}} for each in cells]
    text = {"cell_type": "markdown", "source": ["import jax"], "metadata": {}}
    return json.dumps({"cells": [text, *code], "nbformat": 4}, indent=1, ensure_ascii=False) + "\n"


def test_the_cells_of_a_notebook_share_their_names() -> None:
    source = notebook(
        ["%matplotlib inline\n", "import jax.numpy as jnp\n", "!ls\n", "x = jnp.ones(3)"],
        "%%time\njnp.nothing(x)",
        ["%%bash\n", "import jax"],
        ["é = 1"],
    )
    done = ported_notebook(source, Porter(begin="x = 1\n"))
    expected = source.replace("import jax.numpy", "x = 1\\nimport tenferro.numpy")
    assert json.loads(done.text)["cells"][1]["source"][1:3] == [
        "x = 1\n",
        "import tenferro.numpy as jnp\n",
    ]
    assert json.loads(done.text)["cells"][2:] == json.loads(expected)["cells"][2:]
    assert [str(each) for each in done.remarks] == [
        "cell 3:2: jax.numpy.nothing: tenferro.numpy does not have it"
    ]


# The command.

PROGRAM = """\
import jax
import jax.numpy as jnp

@jax.jit
def f(x):
    return jnp.sum(jnp.sin(x) ** 2)

print(*map(float, jax.grad(f)(jnp.array([1.0, 2.0]))))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "rest.py").write_text("import jax\njax.live_arrays()\n")
    return tmp_path


def test_a_program_runs_after_it_is_rewritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["port", "program.py", "-o", "ported.py"]) == 0
    assert capsys.readouterr().out == "1 file, 0 lines to change by hand\n"
    command = [sys.executable, "ported.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = jax.grad(lambda x: jax.numpy.sum(jax.numpy.sin(x) ** 2))(np.array([1.0, 2.0]))
    np.testing.assert_allclose([*map(float, printed.split())], expected, rtol=1e-6)


def test_without_output_the_program_is_printed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["port", "rest.py"]) == 1
    out, err = capsys.readouterr()
    assert out == f"{AS_IN_JAX}import tenferro as jax\njax.live_arrays()\n"
    assert err == (
        "rest.py:2: jax.live_arrays: arrays are freed when nothing refers to them\n"
        "1 file, 1 line to change by hand\n"
    )


def test_dtypes_may_be_those_of_numpy(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["port", "program.py", "--promotion", "numpy"]) == 0
    assert capsys.readouterr().out.startswith("import tenferro as jax\n")


def test_check_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["port", ".", "--check"]) == 1
    assert capsys.readouterr().out.endswith("2 files, 1 line to change by hand\n")
    assert (here / "program.py").read_text() == PROGRAM


def test_a_folder_is_copied_with_its_data(here: Path) -> None:
    package = here / "library"
    (package / "deep").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    (package / "__init__.py").write_text("from library import deep\n")
    (package / "deep" / "__init__.py").write_bytes(
        "# -*- coding: latin-1 -*-\nimport jax  # é\n".encode("latin-1")
    )
    (package / "data.txt").write_text("import jax\n")
    (package / "bare").mkdir()  # a part of a package without a file __init__.py
    (package / "bare" / "module.py").write_text("import jax\n")
    (package / "cells.ipynb").write_text(notebook("import jax"))
    assert main(["port", "library", "-o", "out/library"]) == 0
    out = here / "out" / "library"
    assert sorted(each.relative_to(out).as_posix() for each in out.rglob("*")) == [
        *("__init__.py", "bare", "bare/module.py", "cells.ipynb", "data.txt"),
        *("deep", "deep/__init__.py"),
    ]
    assert (out / "bare" / "module.py").read_text() == "import tenferro as jax\n"
    assert (out / "deep" / "__init__.py").read_text(encoding="latin-1") == (
        "# -*- coding: latin-1 -*-\nimport tenferro as jax  # é\n"
    )
    assert (out / "data.txt").read_text() == "import jax\n"
    assert "tenferro.config" not in (out / "cells.ipynb").read_text()
    assert "tenferro as jax" in (out / "cells.ipynb").read_text()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("port nothing.py", "there is no file or folder nothing.py"),
        ("port .", ". is a folder; say where to write with -o OUT, or --check"),
        ("port . -o out", "out is inside of .; write somewhere else"),
        ("port data.txt", "data.txt is neither .py nor .ipynb"),
        ("port no.ipynb", "no.ipynb is not a notebook: "),
        ("port binary.py", "binary.py cannot be read: "),
        ("port program.py -o nowhere/out.py", "nowhere/out.py: No such file or directory"),
    ],
)
def test_what_cannot_be_rewritten_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], command: str, complaint: str
) -> None:
    (here / "data.txt").touch()
    (here / "no.ipynb").write_text("[1, 2]")
    (here / "binary.py").write_bytes(b"\xff\xfe\x00")
    assert main(command.split()) == 2
    assert capsys.readouterr().err.startswith(f"tenferro port: {complaint}")
