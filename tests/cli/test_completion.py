"""`tenferro completion`: the scripts complete commands, options and files in the shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tenferro.cli import main

BASH = """
source ./script
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
function=$(complete -p tenferro | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function tenferro "${{COMP_WORDS[$COMP_CWORD]}}"
echo "${{COMPREPLY[@]}}"
"""
FISH = "source script; complete -C '{line}'"
CASES = [
    ("tenferro ver", "verify"),
    ("tenferro inspect --dt", "--dtype"),
    ("tenferro lower --dtype c1", "c128"),
    ("tenferro run --executor num", "numpy"),
    ("tenferro completion z", "zsh"),
]


def write_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    Path("script").write_text(capsys.readouterr().out, encoding="utf-8")


def ask(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").touch()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(capsys: pytest.CaptureFixture[str]) -> None:
    write_script("bash", capsys)
    for line, expected in [*CASES, ("tenferro inspect mod", "model.py")]:
        assert ask("bash", "--norc", "-c", BASH.format(words=line)) == f"{expected}\n"
    every = ask("bash", "--norc", "-c", BASH.format(words="tenferro ''")).split()
    assert every == ["demo", "doctor", "inspect", "lower", "run", "verify", "port", "completion"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(capsys: pytest.CaptureFixture[str]) -> None:
    write_script("fish", capsys)
    for line, expected in CASES:
        assert expected in ask("fish", "--no-config", "-c", FISH.format(line=line))


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_reads_its_script(capsys: pytest.CaptureFixture[str]) -> None:
    write_script("zsh", capsys)
    ask("zsh", "-n", "script")


def test_without_its_library_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("tenferro.cli.completion.load_named", absent)
    assert main(["completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "tenferro completion: shtab is not installed; pip install 'tenferro[completion]'\n"
    )
