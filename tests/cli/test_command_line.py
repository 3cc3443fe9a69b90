"""The command line as a whole: help, contradictions, exit codes, bugs."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click
import pytest

from localspec.base.errors import ALL_ERRORS, ConfigError
from localspec.base.machine import MachineMemory
from localspec.cli import report
from localspec.cli.commands import COMPLETION, ENVIRONMENT, exit_codes
from localspec.cli.commands import localspec as root
from localspec.cli.options import FILES as FILE_OPTIONS
from localspec.config import SETTINGS
from localspec.config.table import MAX_DEPTH
from tests import readme
from tests.cli.conftest import Localspec
from tests.cli.support import FILES, FakeWorld

HEAVY = ("llama_cpp", "textual", "numpy", "huggingface_hub", "jinja2")


def all_commands(
    command: click.Command = root, path: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            found += all_commands(child, (*path, name))
    return found


COMMANDS = [path for path, _ in all_commands()]


def test_help_loads_nothing_heavy() -> None:
    """A command that does not decode starts no engine, no screen and no arithmetic."""
    code = (
        "import sys; from localspec.cli import main\n"
        "for path in sys.argv[1:]:\n"
        "    try: main([*path.split(), '--help'])\n"
        f"    except SystemExit: print(path, *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    paths = [*map(" ".join, COMMANDS)]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True)
    assert done.stdout.count("Usage: localspec") == len(paths)
    assert [line.rstrip() for line in done.stderr.splitlines()] == paths


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_is_explained_in_one_sentence(path: tuple[str, ...]) -> None:
    """A capital letter, one full stop at the end, and the default where there is one to know."""
    command = dict(all_commands())[path]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            help_ = parameter.help or ""
            assert re.fullmatch(r"[A-Z][^.]*(\d\.\d+[^.]*)*\.", help_), f"{parameter.name}: {help_}"


def test_the_reply_options_are_the_same_everywhere() -> None:
    """What ``run`` understands about pairs and decoding, the chat understands too."""
    expected = {*FILE_OPTIONS, *(each.key for each in SETTINGS if each.option)}
    for path in ((), ("chat",), ("run",)):
        assert expected <= {parameter.name for parameter in dict(all_commands())[path].params}


def test_exit_codes_are_documented(localspec: Localspec) -> None:
    """Help and the README's table name every code an error can have, once."""
    codes = [code for code, _ in exit_codes()]
    assert codes == sorted(set(codes))
    assert {error.exit_code for error in ALL_ERRORS} < set(codes)
    help_, table = localspec("--help").out, readme.exit_codes()
    for code, meaning in exit_codes():
        assert f"| {code} | {meaning} |" in table
        assert f"  {code:<3}  {meaning}\n" in help_


def test_help_names_the_commands_before_their_options(localspec: Localspec) -> None:
    """Who asks for help sees what the program can do first; completion and environment are told at the end."""
    help_ = localspec("--help").out
    assert help_.index("\nCommands:") < 600 < help_.index("\nOptions:") < help_.index("\nSampling:")
    for name in root.commands:
        assert f"\n  {name} " in help_.partition("\nOptions:")[0]
    for line in (*COMPLETION.values(), *ENVIRONMENT):
        assert f"  {line}" in help_


@pytest.mark.parametrize(
    "command",
    [
        *(("run", option, "", "hello") for option in ("--pair", "--target", "--draft", "--image", "--attach")),
        ("chat", "--pair", ""),
        ("bench", "--pair", ""),
        ("verify", "--pair", ""),
        ("trials", "start", "--pair", "", "--depth", "3"),
        ("trials", "start", "--draft", ""),
        ("config", "show", "--pair", ""),
        ("config", "get", "depth", "--pair", ""),
        ("pairs", "add", ""),
        ("pairs", "scan", ""),
        ("metrics", "--file", ""),
        ("history", "export", "--all", "-o", ""),
        ("history", "import", ""),
        ("history", "file", "--matching", "is:any", "--folder", ""),
        ("mcp", "import", ""),
        ("batch", ""),
        ("batch", "requests.jsonl", "--out", ""),
        ("serve", "--api-key-file", ""),
    ],
    ids=" ".join,
)
def test_an_empty_name_names_nothing(localspec: Localspec, command: tuple[str, ...]) -> None:
    """As a variable of the shell that is not set gives it: neither the pair that is set, nor the folder where it is."""
    world = FakeWorld()
    done = localspec(*command, world=world)
    assert (done.code, world.loads) == (2, []), done.err


@pytest.mark.parametrize("shell", COMPLETION)
def test_the_lines_for_completion_work(shell: str) -> None:
    """Each makes a script for its shell, which cuts no description."""
    code = "from localspec.cli import main; main()"
    environment = {**os.environ, "_LOCALSPEC_COMPLETE": f"{shell}_source"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert f"_LOCALSPEC_COMPLETE={shell}_source" in COMPLETION[shell]
    assert f"{shell}_complete" in done.stdout
    assert 'split ","' not in done.stdout  # descriptions have commas, too


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_the_line_of_zsh_needs_nothing_before_it(tmp_path: Path) -> None:
    """Not even that the startup file has loaded the system of completion, which few do by themselves."""
    command = tmp_path / "localspec"
    command.write_text(f"#!{sys.executable}\nfrom localspec.cli import main\nmain()\n")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "ZDOTDIR": str(tmp_path)}
    script = f"{COMPLETION['zsh']}; print $_comps[localspec]"
    done = subprocess.run(["zsh", "-f", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("_localspec_completion", "")


def test_the_options_table_names_every_option() -> None:
    """The README is made from the same definitions as the help."""
    table = readme.options_table(root.commands["run"])
    for option in ("--pair ID", "--depth auto\\|N", "--raw", "--json"):
        assert f"`{option}`" in table


def test_the_version(localspec: Localspec) -> None:
    done = localspec("--version")
    assert done.code == 0
    assert re.fullmatch(r"localspec \d+\.\d+\.\d+\n", done.out)


def test_the_help_names_the_deepest_depth(localspec: Localspec) -> None:
    assert f", 0 to {MAX_DEPTH} (" in " ".join(localspec("run", "--help").out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--pair", "builtin", "--target", "big.gguf"),
        ("--pair", "builtin", "--draft", "small.gguf"),
        ("--draft", "small.gguf"),
        ("--target", "big.gguf", "--spec", "draft"),
        (*FILES, "--spec", "off", "--depth", "3"),
        (*FILES, "--spec", "off,draft"),
        (*FILES, "--spec", "draft,"),
        (*FILES, "--spec", "telepathy"),
        (*FILES, "--depth", "17"),
        (*FILES, "--depth", "-1"),
        (*FILES, "--depth", "some"),
        (*FILES, "--temperature", "nan"),
        (*FILES, "--temperature", "inf"),
        (*FILES, "--temperature", "-0.1"),
        (*FILES, "--top-p", "0"),
        (*FILES, "--min-p", "1.1"),
        (*FILES, "--max-tokens", "0"),
        (*FILES, "--ctx", "0"),
        (*FILES, "--seed", "-1"),
        (*FILES, "--stop", ""),
        (*FILES, "--rpc", "no address"),
        (*FILES, "--no-such-option"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_command_line_that_makes_no_sense(localspec: Localspec, command: str, arguments: tuple[str, ...]) -> None:
    """Exit code 2, one line on standard error with what to do, and nothing is loaded."""
    world = FakeWorld()
    done = localspec(command, *arguments, *(["hello"] if command == "run" else []), world=world)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("localspec: ")
    assert done.err.count("\n") == 1
    assert not world.loads


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", *FILES, "--raw", "--system", "x", "hello"),
        ("run", *FILES, "--json", "--marks", "ascii", "hello"),
        ("tell me a story",),
        ("--seed", "3", "run", "hello"),
    ],
    ids=" ".join,
)
def test_what_only_some_commands_can_get_wrong(localspec: Localspec, arguments: tuple[str, ...]) -> None:
    """Contradictions, a prompt in place of a command, options in a place where they would be lost."""
    done = localspec(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("batch",), ("pairs", "scan"), ("trials", "start", "--draft"), ("verify", "--out")]
)
def test_a_name_that_no_file_can_have(localspec: Localspec, arguments: tuple[str, ...]) -> None:
    """It is refused as one that is not there."""
    done = localspec(*arguments, "a" * 5000)
    assert (done.code, done.out) == (4, "")
    assert done.err == "localspec: The name of a file on the command line is too long. Shorten it.\n"


@pytest.mark.parametrize(
    ("group", "listing"),
    [
        (("pairs",), ("pairs", "list")),
        (("history",), ("history", "list")),
        (("trials",), ("trials", "list")),
        (("config",), ("config", "show")),
    ],
)
def test_a_group_without_a_command_lists(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, group: tuple[str, ...], listing: tuple[str, ...]
) -> None:
    """The listing is that of the group's own command; ``--help`` tells the usage."""
    monkeypatch.setattr("localspec.doctor.native_probe.memory", lambda: MachineMemory(16 * 10**9, 14 * 10**9))
    done = localspec(*group)
    assert (done.code, done.err) == (0, "")
    assert without_figures(done.out) == without_figures(localspec(*listing).out)


def without_figures(text: str) -> str:
    """Free room on the disk changes between two commands."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.]+( [kMGT]?B)?", "0", text))


def test_every_group_is_held_to_that() -> None:
    groups = [path for path, command in all_commands() if isinstance(command, click.Group) and path]
    assert groups == [("config",), ("history",), ("mcp",), ("pairs",), ("trials",)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--temperature", "warm"), "it should be a number from 0, not 'warm'."),
        (("--seed", "x"), "it should be a whole number from 0 to 4294967295, not 'x'."),
        (("--threads", "513"), "it should be a whole number of threads from 1 to 512, not 513."),
        (("--ctx", "9" * 20), f"it should be at most 2147483647, not {'9' * 20}."),
        (("--temperature", "1e39"), "it should be a finite number, at most 3e+38, not 1e+39."),
    ],
)
def test_what_is_no_number_is_told_so(localspec: Localspec, arguments: tuple[str, ...], said: str) -> None:
    """In words, not in those of a type system."""
    assert said in localspec("run", *arguments, "hello").err


def test_what_click_says_is_a_sentence(localspec: Localspec) -> None:
    """The hint after it begins anew."""
    assert "(extra). localspec chat --help" in localspec("chat", "extra").err

    assert "?) localspec run --help" in localspec("run", "--model", "m.gguf", "hello").err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("what is a draft",), 'To ask something, quote it: localspec run "..."; localspec --help'),
        (("pull", "qwen3-8b"), "'pull'. Try localspec pairs pull; localspec --help"),
        (("import",), "'import'. Try localspec mcp import or localspec history import; localspec --help"),
        (("pairs", "get"), "'get'. localspec pairs --help"),
    ],
)
def test_an_unknown_command_leads_to_what_was_meant(
    localspec: Localspec, arguments: tuple[str, ...], hint: str
) -> None:
    """A command of a group that another program has outside, a question, or the help of the group."""
    assert hint in localspec(*arguments).err


def test_an_unknown_pair(localspec: Localspec) -> None:
    """Exit code 4, and the way to the list of those there are."""
    done = localspec("run", "--pair", "no-such-pair", "hello")
    assert (done.code, done.out) == (4, "")
    assert "no-such-pair" in done.err
    assert "localspec pairs list" in done.err


class Bug(Exception):
    """Nothing anybody foresaw."""


def broken(world: FakeWorld) -> FakeWorld:
    world.load_error = Bug("the sky fell")  # type: ignore[assignment]  # a bug is no LocalSpecError, that is the point
    return world


def test_a_bug_is_a_sentence_and_a_log(localspec: Localspec, own_home: Path) -> None:
    """No traceback on the screen; it is in the log, its owner's alone, whose path is in the sentence."""
    log_file = own_home / "localspec" / "logs" / "localspec.log"
    log_file.parent.mkdir(parents=True)
    log_file.touch(0o644)  # as earlier versions made it
    done = localspec("run", *FILES, "hello", world=broken(FakeWorld()))
    assert stat.S_IMODE(log_file.stat().st_mode) == 0o600
    assert (done.code, done.out) == (1, "")
    assert (
        done.err == f"localspec: Something unexpected went wrong (Bug: the sky fell). The details are in {log_file}.\n"
    )
    assert "Traceback" in log_file.read_text()
    assert "the sky fell" in log_file.read_text()


def test_a_bug_can_be_looked_at(localspec: Localspec, monkeypatch: pytest.MonkeyPatch) -> None:
    """LOCALSPEC_DEBUG shows the traceback as well."""
    monkeypatch.setenv("LOCALSPEC_DEBUG", "1")
    assert "Traceback" in localspec("run", *FILES, "hello", world=broken(FakeWorld())).err


def test_a_log_that_cannot_be_written_hides_nothing(localspec: Localspec, own_home: Path) -> None:
    """Then the details come on standard error."""
    (own_home / "localspec").write_text("a file where a folder should be")
    done = localspec("run", *FILES, "hello", world=broken(FakeWorld()))
    assert done.code == 1
    assert "Traceback" in done.err
    assert "cannot be written" in done.err


def test_a_bug_without_a_home_folder_is_a_sentence_too(
    localspec: Localspec, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no folder for a log then, so the details come on standard error."""

    def homeless() -> NoReturn:
        raise ConfigError("This user has no home folder.", "Set LOCALSPEC_HOME to a folder of your own.")

    monkeypatch.setattr(report, "user_paths", homeless)
    done = localspec("run", *FILES, "hello", world=broken(FakeWorld()))
    assert done.code == 1
    assert "Traceback" in done.err
    assert done.err.endswith(
        "localspec: Something unexpected went wrong (Bug: the sky fell). "
        "This user has no home folder. Set LOCALSPEC_HOME to a folder of your own.\n"
    )


def test_without_llama_cpp_the_next_step_is_named() -> None:
    """Exit code 8, the missing package and the way to it; it is no bug, so no log is named."""
    code = "import sys; sys.modules['llama_cpp'] = None; from localspec.cli import main; main(['run', 'hello'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (8, "")
    assert done.stderr == (
        "localspec: llama.cpp cannot be loaded: the package llama-cpp-python is not installed. "
        "`localspec doctor` shows the command that builds llama.cpp on this machine.\n"
    )


def test_the_options_table_does_not_depend_on_who_asked_before() -> None:
    """A command asked by itself, outside of the program, has no -h."""

    @click.command
    def something() -> None:
        pass

    something.get_params(click.Context(something))
    assert "| `-h, --help` |" in readme.options_table(something)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("run", "--stop"), "localspec run"),
        (("history", "export", "--output"), "localspec history export"),
        (("--stop",), "localspec"),
        (("run", "--stops"), "localspec run"),
    ],
)
def test_an_option_without_its_value_leads_to_the_help_of_its_command(
    localspec: Localspec, words: tuple[str, ...], command: str
) -> None:
    done = localspec(*words)
    assert done.code == 2
    assert f" {command} --help lists what there is." in done.err
