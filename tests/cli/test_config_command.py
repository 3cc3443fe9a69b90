"""``localspec config``: what is set, where, and what is wrong with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from localspec.config import SETTINGS, config_file, read_config
from tests.cli.conftest import Localspec
from tests.config.support import configure


def test_the_path_is_said_whether_it_is_there_or_not(localspec: Localspec) -> None:
    """Alone on standard output."""
    assert localspec("config", "path").out == f"{config_file()}\n"


def test_a_file_without_mistakes(localspec: Localspec) -> None:
    """Exit code 0 and a sentence, as without a file."""
    assert localspec("config", "check").code == 0
    configure('[sampling]\ntop_k = 3\n[keys]\nstop = "ctrl+y"\n')
    done = localspec("config", "check")
    assert (done.code, done.err) == (0, "")
    assert "2 settings, no mistakes" in done.out


def test_every_mistake_is_told_and_the_exit_code_tells(localspec: Localspec) -> None:
    """Those of single lines, of settings that contradict each other, and of keys, in order."""
    configure('[sampling]\nmirostat = 2\ntop_k = 3\nloud = 1\n[keys]\nstop = "ctrl+n"\nnowhere = "f9"\n')
    done = localspec("config", "check")
    assert (done.code, done.out) == (9, "")
    lines = done.err.splitlines()
    assert [line.split("line ")[1][0] for line in lines[:-1]] == ["3", "4", "6", "7"]
    assert "4 mistakes" in lines[-1]


def test_tools_and_servers_that_are_not_there_are_mistakes(localspec: Localspec) -> None:
    """One cannot be set, and one in the file is told; those of a server that is there are left to it."""
    configure(
        '[mcp.web]\nurl = "http://127.0.0.1:9/mcp"\n[tools]\nmcp = ["web", "gone"]\ntool = ["get_time", "web.x"]\n'
    )
    assert localspec("config", "set", "tool", "get_tome").code == 2
    assert localspec("config", "set", "tool", "gone.x").code == 2
    assert localspec("config", "set", "mcp", "web").code == 0
    assert localspec("config", "check").code == 0
    configure('[tools]\nmcp = ["gone"]\ntool = ["get_time", "get_tome"]\n')
    done = localspec("config", "check")
    assert done.code == 9
    assert "line 2: tools.mcp: there is no MCP server gone." in done.err
    assert "line 3: tools.tool: there is no tool get_tome." in done.err


@pytest.mark.parametrize("command", [("show",), ("get", "depth")])
def test_a_pair_that_is_nowhere_is_told(localspec: Localspec, command: tuple[str, ...]) -> None:
    """That of a table that waits is somewhere."""
    assert localspec("config", *command, "--pair", "bultin").code == 4
    configure("[pair.removed]\ndepth = 3\n")
    assert localspec("config", *command, "--pair", "removed").code == 0


def test_what_is_set_is_listed(localspec: Localspec) -> None:
    """Or everything there is, with what it does."""
    assert "Nothing is set" in localspec("config", "show").out
    configure("[sampling]\ntop_k = 3\n")
    assert localspec("config", "show").out == "[sampling]\ntop_k = 3\n"
    everything = localspec("config", "show", "--all").out
    assert "top_k = 3  (line 2)\n" in everything
    for each in SETTINGS:
        assert f"\n{each.key}" in f"\n{everything}"
        assert each.description in everything


def test_keys_that_do_not_count_are_not_listed(localspec: Localspec) -> None:
    """They are told as mistakes."""
    configure('[keys]\nstop = "ctrl+y"\nundo = "ctrl+n"\nnowhere = "f9"\n')
    done = localspec("config", "show")
    assert done.out == "[keys]\nstop = ctrl+y\n"
    assert done.err.count("keys.") == 2
    told = json.loads(localspec("config", "show", "--json").out)
    assert (told["keys"], len(told["problems"])) == ({"stop": "ctrl+y"}, 2)


def test_the_listing_as_json(localspec: Localspec) -> None:
    """The same for programs."""
    configure('[sampling]\ntop_k = 3\nloud = 1\n[reply]\nstop = ["a", "b"]\n')
    told = json.loads(localspec("config", "show", "--json").out)
    assert {each["name"]: each["value"] for each in told["settings"]} == {
        "sampling.top_k": 3,
        "reply.stop": ["a", "b"],
    }
    assert [problem["line"] for problem in told["problems"]] == [3]


def test_the_editor_opens_the_file_and_it_is_checked_after(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first time, the file is made; a mistake that is made in it is told at once."""
    script = "import sys; open(sys.argv[1], 'a').write('[reply]\\nseed = -1\\n')"
    monkeypatch.setenv("VISUAL", f'"{sys.executable}" -c "{script}"')
    done = localspec("config", "edit")
    assert config_file().read_text().startswith("# LocalSpec's settings.")
    assert done.code == 9
    assert "reply.seed" in done.err


@pytest.mark.parametrize("editor", ["no-such-editor-anywhere", "false", "'"])
def test_an_editor_that_does_not_work_is_a_sentence(
    localspec: Localspec, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    """Missing, failing, or misquoted."""
    monkeypatch.setenv("VISUAL", editor)
    done = localspec("config", "edit")
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_an_editor_of_spaces_is_none(localspec: Localspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file itself is not started in its place."""
    (tmp_path / "vi").write_text("#!/bin/sh\n")
    (tmp_path / "vi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VISUAL", "  ")
    assert localspec("config", "edit").code == 0


PAIRS = """\
[speculation]
depth = 5
[sampling]
preset = "creative"
min_p = 0.2
[pair.builtin]
depth = 6
[pair."gone.1"]
temperature = 0.3
"""


def test_tables_of_pairs_are_listed(localspec: Localspec) -> None:
    """Also of one that is not there any more, which is said and is no mistake."""
    configure(PAIRS)
    out = localspec("config").out
    assert out == localspec("config", "show").out
    assert "[pair.builtin]\ndepth = 6\n" in out
    assert '[pair."gone.1"]  There is no such pair now.\ntemperature = 0.3\n' in out
    done = localspec("config", "check")
    assert (done.code, done.err) == (0, "")
    assert "5 settings, no mistakes." in done.out
    assert "Line 9: there is no pair 'gone.1' now" in done.out
    told = json.loads(localspec("config", "show", "--json").out)
    assert told["pairs"] == {
        "builtin": {"there": True, "settings": {"speculation.depth": 6}},
        "gone.1": {"there": False, "settings": {"sampling.temperature": 0.3}},
    }


def test_mistakes_in_tables_of_pairs_are_told(localspec: Localspec) -> None:
    """Each once, though the pair be the one that is set; contradictions too."""
    configure("[pair.builtin]\ndry_base = 2\nloud = 1\n[pair.gone]\ntheme = 'dark'\n")
    done = localspec("config", "check")
    assert done.code == 9
    assert [line.split("line ")[1][0] for line in done.err.splitlines()[:-1]] == ["2", "3", "5"]


def test_what_counts_is_told_with_where_it_comes_from(localspec: Localspec) -> None:
    """With the pair that is set, or any."""
    configure(PAIRS)
    out = localspec("config", "show", "--pair", "builtin").out
    assert "depth = 6  (line 7, for this pair)\n" in out
    assert "min_p = 0.2  (line 5)\n" in out
    assert "temperature = 1.2  (by the preset)\n" in out
    assert "ctx" not in out
    everything = localspec("config", "show", "--all").out
    assert "depth = 6  (line 7, for this pair)\n" in everything
    assert "\nctx: " in everything
    assert "depth = 5  (line 2)\n" in localspec("config", "show", "--pair", "smollm2-1.7b").out
    configure("")
    assert "top_p = 0.9  (recommended by the pair)\n" in localspec("config", "show", "--pair", "builtin").out
    sources = json.loads(localspec("config", "show", "--all", "--json").out)["settings"]
    assert {each["source"] for each in sources} == {"recommended", "built in"}
    assert [each["name"] for each in sources] == [each.name for each in SETTINGS]


def test_one_setting_is_told_alone(localspec: Localspec) -> None:
    """Its value on standard output, where it comes from beside it; nothing where nobody sets it."""
    configure(PAIRS)
    for arguments, value, origin in (
        (("depth",), "6\n", "line 7, for this pair."),
        (("speculation.depth", "--pair", "smollm2-1.7b"), "5\n", "line 2."),
        (("top k",), "100\n", "by the preset."),
        (("seed",), "", "The built-in value is: a fresh one each time."),
    ):
        done = localspec("config", "get", *arguments)
        assert (done.code, done.out) == (0, value)
        assert done.err.endswith(f"{origin}\n")
    told = json.loads(localspec("config", "get", "depth", "--json").out)
    assert (told["value"], told["source"], told["line"], told["per_pair"]) == (6, "pair", 7, True)


def test_set_and_unset(localspec: Localspec) -> None:
    """For all pairs or for one; comments and all else of the file stay."""
    configure("# mine\n")
    assert localspec("config", "set", "depth", "4").out.endswith("line 4: speculation.depth = 4\n")
    done = localspec("config", "set", "depth", "6", "--pair", "builtin")
    assert done.out.endswith("line 7: pair.builtin.depth = 6\n")
    assert localspec("config", "set", "top-n-sigma", "-1").code == 0
    assert localspec("config", "set", "stop", '["a", "b"]', "--pair", "builtin").code == 0
    assert read_config().values == {"speculation.depth": 4, "sampling.top_n_sigma": -1}
    assert read_config().pairs == {"builtin": {"speculation.depth": 6, "reply.stop": ("a", "b")}}
    assert "Pairs with one of their own keep it: builtin." in localspec("config", "set", "depth", "3").err
    assert localspec("config", "unset", "depth", "--pair", "builtin").code == 0
    assert read_config().pairs == {"builtin": {"reply.stop": ("a", "b")}}
    assert localspec("config", "unset", "all", "--pair", "builtin").code == 0
    assert localspec("config", "unset", "depth").code == 0
    assert read_config().pairs == {}
    assert read_config().values == {"sampling.top_n_sigma": -1}
    assert config_file().read_text().startswith("# mine\n")


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("set", "depht", "3"), 2, "Did you mean depth?"),
        (("set", "context", "4096"), 2, "Did you mean ctx?"),
        (("set", "draft-length", "4"), 2, "Did you mean depth?"),
        (("set", "keys.stop", "x"), 2, "There is no setting"),
        (("set", "depth", "99"), 2, "a whole number of tokens from 0 to 16"),
        (("set", "depth", "3", "--pair", "buitin"), 4, "Did you mean builtin?"),
        (("set", "theme", "dark", "--pair", "builtin"), 2, "the same for all pairs"),
        (("set", "pair", "builtin", "--pair", "builtin"), 2, "the same for all pairs"),
        (("set", "dry_base", "2"), 2, "The setting stays as it was."),
        (("set", "dry_base", "2", "--pair", "builtin"), 2, "The setting stays as it was."),
        (("set", "persona", "nobody", "--pair", "builtin"), 2, "The setting stays as it was."),
        (("set", "pair", "buitin"), 4, "Did you mean builtin?"),
        (("set", "pair", "smollm2-1.7b"), 4, "Run `localspec pairs pull smollm2-1.7b`."),
        (("unset", "seed"), 2, "does not set seed for all pairs"),
        (("unset", "depth", "--pair", "builtin"), 2, "does not set depth for builtin"),
        (("unset", "all", "--pair", "builtin"), 2, "sets nothing for builtin"),
        (("unset", "all"), 2, "There is no setting 'all'"),
        (("get", "nothing"), 2, "There is no setting"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_makes_no_sense_is_refused(localspec: Localspec, arguments: tuple[str, ...], code: int, hint: str) -> None:
    """And what is set is what was."""
    configure("[reply]\nmax_tokens = 9\n")
    done = localspec("config", *arguments)
    assert (done.code, done.out) == (code, "")
    assert hint in done.err
    assert (read_config().values, read_config().pairs) == ({"reply.max_tokens": 9}, {})


@pytest.mark.parametrize(
    "arguments",
    [("persona", "nobody"), ("json_schema", "{"), ("dry_base", "2"), ("pair", "nope"), ("top_k", "@3")],
    ids=" ".join,
)
def test_a_refused_value_leaves_every_byte_of_the_file(localspec: Localspec, arguments: tuple[str, ...]) -> None:
    """Also a value of the same setting that is not valid now, its comment, and texts of several lines."""
    text = "[reply]\npersona = 'away'  # on my other machine\n[sampling]\njson_schema = '''\n{}\n'''\ntop_k = 7 # 8\n"
    configure(text)
    assert localspec("config", "set", *arguments).code in (2, 4)
    assert config_file().read_text() == text


def test_a_mistake_is_taken_out_by_its_name(localspec: Localspec) -> None:
    """For all pairs and for one, though it counts as not set."""
    configure("[sampling]\ntop_k = 'few'\n[pair.builtin]\ntop_p = 7\ntop_k = 7\n")
    assert localspec("config", "unset", "top_p").code == 2
    assert localspec("config", "unset", "top_k").code == 0
    assert localspec("config", "unset", "top_p", "--pair", "builtin").code == 0
    assert config_file().read_text() == "[sampling]\n[pair.builtin]\ntop_k = 7\n"


def test_a_value_that_is_not_utf8_is_refused(localspec: Localspec) -> None:
    """As such, and not as one that a person could write into the file by hand."""
    done = localspec("config", "set", "system", "caf\udce9")
    assert (done.code, done.err) == (
        3,
        "localspec: System is not UTF-8 text. Convert it first, for example with iconv.\n",
    )
    assert not config_file().exists()


def test_the_pair_and_the_server_are_those_of_the_file(localspec: Localspec) -> None:
    """Though they choose the pair that all other settings are told for."""
    configure("[model]\npair = 'builtin'\nconnect = 'http://127.0.0.1:9'\n")
    for name, value in (("pair", "builtin"), ("connect", "http://127.0.0.1:9")):
        assert localspec("config", "get", name).out == f"{value}\n"
        shown = json.loads(localspec("config", "show", "--all", "--json").out)
        (found,) = (each for each in shown["settings"] if each["name"] == f"model.{name}")
        assert (found["value"], found["source"]) == (value, "file")
