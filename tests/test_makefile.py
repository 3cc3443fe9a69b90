"""``make chat`` over a Python that only takes notes: what is installed when, and what is begun anew."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from localspec.doctor.build_advice import AMX_FLAGS, install_command

ROOT = Path(__file__).parent.parent
PAST_THE_CACHE = "--no-cache-dir --no-binary llama-cpp-python"
LLAMA = "-m pip install --quiet --force-reinstall --no-deps"
APP = "-m pip install --quiet --constraint .ci/constraints.txt --editable ."
PYTHON = r"""#!/bin/sh
case "$*" in
    -c*pip*) test -e "$0.pip"; exit ;;
    -c*) exit 0 ;;
esac
echo "[$CMAKE_ARGS${CXXFLAGS:+ $CXXFLAGS}] $*" >> "$NOTES"
for last; do :; done
case "$*" in
    "-m venv --clear "*) rm -rf "$last" ;;
esac
case "$*" in
    "-m venv "*)
        mkdir -p "$last/bin"
        cp "$0" "$last/bin/python"
        printf '#!/bin/sh\necho the chat\n' > "$last/bin/localspec"
        chmod +x "$last/bin/localspec" ;;
esac
if test -n "$FAILS"; then
    case "$*" in *"$FAILS"*) exit 1 ;; esac
fi
case "$*" in
    "-m venv "*) touch "$last/bin/python.pip" ;;
esac
"""

_NOT_OURS = ("MAKE", "MFLAGS", "CMAKE", "CFLAGS", "CXXFLAGS", "CC")

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


class Checkout:
    """The Makefile and what it reads, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / ".venv"
        self.cpuinfo = folder / "cpuinfo"
        self._notes = folder / "notes"
        (folder / ".ci").mkdir()
        for name in ("Makefile", "pyproject.toml", ".ci/constraints.txt"):
            shutil.copy(ROOT / name, folder / name)
        python = folder / "fake-python"
        python.write_text(PYTHON, encoding="utf-8")
        python.chmod(0o755)

    def make(self, *arguments: str, fails: str = "", **environment: str) -> list[str]:
        """What the Python was asked to do, after the arguments for CMake and C++; the command ``fails``."""
        self._notes.write_text("", encoding="utf-8")
        # These tests may be run by make themselves.
        own = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}
        done = subprocess.run(
            ["make", *arguments, f"PYTHON={self.folder / 'fake-python'}", f"CPUINFO={self.cpuinfo}"],
            cwd=self.folder,
            env={**own, "NOTES": str(self._notes), "FAILS": fails, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == bool(fails), done.stderr
        assert ("the chat" in done.stdout) == (not fails and "chat" in arguments)
        return self._notes.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def everything(arguments: str = "", anew: str = "") -> list[str]:
    return [
        f"[{arguments}] -m venv --clear .venv",
        f"[{arguments}] -m pip install --quiet --upgrade pip>=25.1",
        *built(arguments, anew),
    ]


def built(arguments: str, anew: str = "") -> list[str]:
    more = f"{anew} " if anew else ""
    return [
        f"[{arguments}] {LLAMA} {more}--constraint .ci/constraints.txt llama-cpp-python",
        f"[{arguments}] {APP.replace('--constraint', f'{more}--constraint')}",
    ]


def test_what_is_needed_is_made_once(checkout: Checkout) -> None:
    """The second time the chat opens at once."""
    assert checkout.make("chat") == everything()
    assert checkout.make("chat") == []


def test_other_cmake_arguments_compile_anew(checkout: Checkout) -> None:
    """Past pip's cache, which would give the build that was made without them back."""
    checkout.make("chat")
    cuda = built("-DGGML_CUDA=on", PAST_THE_CACHE)
    assert checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on") == cuda
    assert checkout.make("chat", CMAKE_ARGS="-DGGML_CUDA=on") == []
    assert checkout.make("chat", CMAKE_ARGS="-DGGML_CUDA=on -DX='a b'") == built(
        "-DGGML_CUDA=on -DX='a b'", PAST_THE_CACHE
    )


def test_a_gpu_build_does_not_come_from_the_cache_after_a_clean(checkout: Checkout) -> None:
    """And nothing of before is remembered."""
    checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on")
    checkout.make("clean")
    assert checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on") == everything("-DGGML_CUDA=on", PAST_THE_CACHE)
    checkout.make("clean")
    assert checkout.make("chat") == everything()


def test_a_build_holds_until_something_else_is_said(checkout: Checkout) -> None:
    """The next day nobody repeats the arguments; when something else changes, they still hold."""
    checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on")
    assert checkout.make("chat") == []
    (checkout.venv / ".app").unlink()
    assert checkout.make("chat") == built("-DGGML_CUDA=on", PAST_THE_CACHE)[1:]
    assert checkout.make("chat", "CMAKE_ARGS=") == built("", PAST_THE_CACHE)
    assert checkout.make("chat") == []


@pytest.mark.parametrize("version", ["11.4.0", "12.2.0", "13.1.0", "14.2.0"])
def test_amx_has_its_flags_where_the_compiler_gets_it_wrong(checkout: Checkout, version: str) -> None:
    """Such code ends the process at the first prompt. A build that pip made before may have it."""
    checkout.cpuinfo.write_text("flags : fpu amx_bf16 amx_tile amx_int8\n", encoding="utf-8")
    compiler = checkout.folder / "gcc"
    compiler.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    compiler.chmod(0o755)
    made = checkout.make("chat", f"CC={compiler}")
    assert made == (everything() if version == "14.2.0" else everything(f" {AMX_FLAGS}", PAST_THE_CACHE))
    assert checkout.make("chat", f"CC={compiler}") == []


@pytest.mark.parametrize("step", ["-m venv", "--upgrade pip"])
def test_an_environment_that_was_not_finished_is_begun_anew(checkout: Checkout, step: str) -> None:
    """As on Debian without python3-venv, where a Python lies there and no pip."""
    checkout.make("chat", fails=step)
    assert checkout.make("chat") == everything()


def test_a_build_that_failed_is_tried_again(checkout: Checkout) -> None:
    """Its arguments are not taken for those of what is there."""
    checkout.make("chat")
    checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on", fails="--force-reinstall")
    assert checkout.make("chat") == []
    assert checkout.make("chat", "CMAKE_ARGS=-DGGML_CUDA=on") == built("-DGGML_CUDA=on", PAST_THE_CACHE)


@pytest.mark.parametrize("arguments", ["", "-DGGML_VULKAN=on"])
def test_all_is_made_anew_where_python_is_gone(checkout: Checkout, arguments: str) -> None:
    """As after an upgrade of it: the environment's points nowhere. With the arguments of before."""
    anew = PAST_THE_CACHE if arguments else ""
    checkout.make("chat", f"CMAKE_ARGS={arguments}")
    python = checkout.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(checkout.folder / "gone")
    assert checkout.make("chat") == everything(arguments, anew)


def test_all_is_made_anew_where_python_has_no_pip(checkout: Checkout) -> None:
    """As where its link leads to a newer Python, which does not see what is installed for the older."""
    checkout.make("chat")
    (checkout.venv / "bin" / "python.pip").unlink()
    assert checkout.make("chat") == everything()


def test_the_build_is_made_as_doctor_advises(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the flags that its command has for pip."""
    monkeypatch.setattr("localspec.doctor.build_advice.find_spec", lambda name: True)
    assert {*LLAMA.split(), *PAST_THE_CACHE.split()} - {"--quiet"} <= set(install_command().split())


def test_the_page_on_installing_compiles_for_a_gpu_past_the_cache() -> None:
    """Every command of it that has CMake arguments for pip."""
    commands = re.findall(r"`(CMAKE_ARGS=[^`]* pip install [^`]*)`", (ROOT / "docs" / "install.md").read_text("utf-8"))
    assert commands
    assert all(PAST_THE_CACHE in command for command in commands)


def test_the_site_is_built_after_the_generated_parts(checkout: Checkout) -> None:
    """By tools of a group of their own, which are installed once; a warning fails it."""
    made = [
        "[] -m tests.readme",
        "[] -m sphinx --fail-on-warning --keep-going --quiet -c docs . build/site",
    ]
    assert checkout.make("docs")[-3:] == [
        "[] -m pip install --quiet --constraint .ci/constraints.txt --group docs",
        *made,
    ]
    assert checkout.make("docs") == made
    checkout.make("docs", fails="sphinx --fail-on-warning")
