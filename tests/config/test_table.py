"""The table of settings: each is exactly the default of the option of its name."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import click
import pytest

from localspec.chat.commands.keymap import KEYMAPS
from localspec.chat.tokens.marking import GhostMode, MarkMode
from localspec.cli.options import GivenOptions
from localspec.cli.run import run
from localspec.config import SETTINGS, Setting, setting
from localspec.config.kinds import Choice, Flag, Names, RefusedValue, TextOrFile, Value, shown, typed
from localspec.config.presets import PRESETS
from localspec.config.table import SECTIONS
from localspec.engine.drafters import drafter_names
from localspec.engine.settings import Sampling
from localspec.models.pairs import BUILTIN_ID
from localspec.runtime.options import CACHE_TYPES, DEFAULT_N_CTX, FLASH_ATTN

NOT_SETTINGS = {"target", "draft"}
"""What to load by the name of a file belongs on a command line, or into a pair."""
OPTIONS = {parameter.name: parameter for parameter in run.params if isinstance(parameter, click.Option)}
AS_OPTIONS = [each for each in SETTINGS if each.option]
CANDIDATES: tuple[Any, ...] = (
    *(-2, -1, -0.5, 0, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 16, 17, 2**32 - 1, 2**32),
    *("auto", "off", "none", "on", "f16", "f17", "balanced", "draft", "suffix", "draft,suffix", "draft,", "loud"),
)


def test_names_are_unique() -> None:
    """No two settings share a name, nor two sections a key: options have no sections."""
    assert len({each.key for each in SETTINGS}) == len(SETTINGS)
    assert {each.section for each in SETTINGS} == set(SECTIONS)


def test_every_option_of_a_reply_is_a_setting() -> None:
    """And every setting that says so is an option."""
    assert {each.key for each in AS_OPTIONS} == {field.name for field in fields(GivenOptions)} - NOT_SETTINGS


@pytest.mark.parametrize("each", AS_OPTIONS, ids=lambda each: each.name)
def test_option_and_setting_say_the_same(each: Setting) -> None:
    """One sentence, with one default in it, which is the default there is."""
    assert OPTIONS[each.key].help == each.help
    built_in = getattr(Sampling(), each.key, None)
    if isinstance(built_in, int | float):
        assert re.fullmatch(rf"(the pair's own, else )?{re.escape(f'{built_in:g}')}(, off)?", each.default)
    default = getattr(GivenOptions(), each.key)
    if isinstance(default, str | bool):
        assert each.default.startswith("no" if default is False else str(default))


def test_presets_are_told_with_what_they_are_for() -> None:
    """All there are, in their own words."""
    assert setting("preset").kind == Choice(tuple(PRESETS))
    for name, preset in PRESETS.items():
        assert f"{name} for {preset.about}" in setting("preset").about
    assert setting("pair").default == BUILTIN_ID
    assert str(DEFAULT_N_CTX) in setting("ctx").default
    assert setting("cache_type_k").kind == Choice(CACHE_TYPES)
    assert setting("flash_attn").kind == Choice(FLASH_ATTN)


@pytest.mark.parametrize("each", [each for each in AS_OPTIONS if each.key != "depth"], ids=lambda each: each.name)
def test_option_and_setting_take_the_same(each: Setting) -> None:
    """What the file may say, the option would take, and nothing else, as far as a value can be written in both."""
    if isinstance(each.kind, Flag):
        return
    option, context = OPTIONS[each.key], click.Context(run)
    for candidate in CANDIDATES:
        text = [str(candidate)] if option.multiple else str(candidate)
        try:
            option.process_value(context, text)
            taken = True
        except click.BadParameter:
            taken = False
        if taken and isinstance(each.kind, Names):
            taken = candidate in ("auto", "off") or set(str(candidate).split(",")) <= set(each.kind.known)
        if not isinstance(candidate, str) and accepts(each, str(candidate)):
            assert taken, candidate
        else:
            assert accepts(each, candidate) <= taken, candidate


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


def test_words_are_those_of_their_modules() -> None:
    """This package imports none of them."""
    assert setting("spec").kind == Names(tuple(drafter_names()))
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
