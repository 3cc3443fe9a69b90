"""The table of settings: each is declared once, and taken by a field of its name."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from localspec.chat.commands.keymap import KEYMAPS
from localspec.chat.settings.preferences import Preferences
from localspec.chat.tokens.marking import GhostMode, MarkMode
from localspec.config import SETTINGS, Setting, setting
from localspec.config.kinds import Choice, Names, RefusedValue, TextOrFile, Value, shown, typed
from localspec.config.table import SECTIONS
from localspec.engine import drafters
from localspec.engine.settings import Sampling
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.chat_config import ChatConfig, Outlets, ToolChoice
from localspec.runtime.messages import ReplyOptions
from localspec.runtime.options import LoadOptions

TAKEN_BY = (LoadOptions, ReplyOptions, Sampling, Outlets, ToolChoice, ChatConfig, Preferences)
ELSEWHERE = {"pair", "connect", "ctx", "preset", "json_schema", "persona", "truth"}
"""Settings that become a field of another name."""
AS_OPTIONS = [each for each in SETTINGS if each.option]
OF_SCREEN = [each for each in SETTINGS if each.section == "screen"]


def defaults() -> dict[str, Any]:
    """The built-in value of each field that takes a setting."""
    return {field.name: field.default for kind in TAKEN_BY for field in fields(kind)}


def test_names_are_unique() -> None:
    """No two settings share a name, nor two sections a key: options have no sections."""
    assert len({each.key for each in SETTINGS}) == len(SETTINGS)
    assert {each.section for each in SETTINGS} == set(SECTIONS)


@pytest.mark.parametrize("each", [*AS_OPTIONS, *OF_SCREEN], ids=lambda each: each.name)
def test_every_setting_is_taken(each: Setting) -> None:
    """By a field of its name, so that none is lost in silence."""
    assert (each.key in defaults()) != (each.key in ELSEWHERE)


@pytest.mark.parametrize("kind", [Sampling, ReplyOptions, LoadOptions, Outlets, ToolChoice])
def test_every_field_can_be_set(kind: type[Any]) -> None:
    """But for files, servers and tools, the context, the sampling, and what only programs ask for."""
    by_programs = {"logprobs", "replies", "one_call", "must_call", "repeatable", "ignore_end", "server", "server_pair"}
    known = {"target", "draft", "projector", "n_ctx", "sampling", "tools"} | by_programs
    assert {field.name for field in fields(kind)} <= known | {each.key for each in AS_OPTIONS}


@pytest.mark.parametrize("each", [*AS_OPTIONS, *OF_SCREEN], ids=lambda each: each.name)
def test_the_words_for_the_default_are_true(each: Setting) -> None:
    """They name the built-in value, where it is a number, a word or a flag."""
    default = defaults().get(each.key)
    if isinstance(default, bool):
        assert each.default.startswith("yes" if default else "no")
    elif isinstance(default, int | float):
        assert re.fullmatch(rf"(the pair's own, else )?{re.escape(f'{default:g}')}(, off)?", each.default)
    elif isinstance(default, str):
        assert each.default.startswith(default)
    assert setting("pair").default == BUILTIN_ID


def accepts(each: Setting, candidate: object) -> bool:
    try:
        each.kind.check(candidate)
    except RefusedValue:
        return False
    return True


@pytest.mark.parametrize(
    ("key", "least", "most"),
    [("temperature", 0, None), ("top_k", 0, None), ("min_p", 0, 1), ("seed", 0, 2**32 - 1), ("depth", 0, 16)],
)
def test_ranges_have_ends(key: str, least: int, most: int | None) -> None:
    """The ends belong to a range, what is beyond does not."""
    assert accepts(setting(key), least)
    assert not accepts(setting(key), least - 1)
    assert most is None or (accepts(setting(key), most) and not accepts(setting(key), most + 1))


def test_the_page_spells_options_as_keys_and_commands_as_they_are() -> None:
    """An option in the text of a setting is another setting; one of a command that is quoted stays an option."""
    assert "`localspec stats --watch`" in setting("ttft_p95_s").description
    assert not any(re.search(r"--[a-z]", re.sub(r"`[^`]*`", "", each.description)) for each in SETTINGS)


def test_words_are_those_of_their_modules() -> None:
    """This package imports none of them."""
    assert setting("spec").kind == Names(drafters.__name__)
    assert f"names out of {', '.join(drafters.drafter_names())}" in setting("spec").kind.form
    for key, words in (("keymap", KEYMAPS), ("truth", MarkMode), ("ghosts", GhostMode)):
        assert setting(key).kind == Choice(tuple(map(str, words)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stop", ("a\n", 'a "quoted" \\ text')),
        ("stop", ()),
        ("system", "First line.\nSecond \\n line."),
        ("temperature", 0.1),
        ("temperature", 1e-30),
        ("seed", 2**32 - 1),
        ("depth", "auto"),
        ("mlock", False),
        ("spec", "draft,suffix"),
        ("json_schema", "@schema.json"),
        ("metrics", "a\\b.prom"),
        ("audit_log", "a\\b.ndjson"),
    ],
)
def test_what_is_shown_to_be_changed_reads_back(key: str, value: Value) -> None:
    """A field opened and closed changes nothing."""
    assert setting(key).kind.check(list(value) if isinstance(value, tuple) else value) == value
    assert setting(key).kind.read(typed(value)) == value
    assert "\n" not in typed(value)
    assert "\n" not in shown(value)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), True, "1", None, [], 10**400])
def test_a_number_is_a_finite_number(wrong: object) -> None:
    """Neither a flag nor a text, nor what no float can hold."""
    assert not accepts(setting("temperature"), wrong)


def test_files_are_taken_by_name() -> None:
    """Where the command line takes a file, so does a setting."""
    assert {each.key for each in SETTINGS if isinstance(each.kind, TextOrFile)} == {"grammar", "json_schema"}
