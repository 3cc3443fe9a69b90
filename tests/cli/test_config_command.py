"""``localspec config``: what is set, where, and what is wrong with it."""

from __future__ import annotations

import json
import sys

import pytest

from localspec.config import SETTINGS, config_file
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


def test_what_is_set_is_listed(localspec: Localspec) -> None:
    """Or everything there is, with what it does."""
    assert "Nothing is set" in localspec("config", "show").out
    configure("[sampling]\ntop_k = 3\n")
    assert localspec("config", "show").out == "[sampling]\ntop_k = 3\n"
    everything = localspec("config", "show", "--all").out
    assert "top_k = 3\n" in everything
    for each in SETTINGS:
        assert f"\n{each.key}" in f"\n{everything}"
        assert each.description in everything


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
