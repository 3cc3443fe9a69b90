"""The page of settings says what the program says."""

from __future__ import annotations

import re

from localspec.chat.commands.keymap import resolve_keymap
from localspec.chat.commands.places import ACTIONS
from localspec.config import SETTINGS, read_config
from tests.config.support import add_persona, configure
from tests.readme import PAGE_BLOCKS, SETTINGS_PAGE, block_names, generated

TEXT = SETTINGS_PAGE.read_text(encoding="utf-8")


def test_the_generated_parts_are_up_to_date() -> None:
    """If this fails after an intended change: make docs."""
    assert generated(TEXT) == TEXT
    assert sorted(block_names(TEXT)) == sorted(PAGE_BLOCKS)


def test_everything_is_on_the_page() -> None:
    """Every setting and every action, under its name."""
    made = "".join(make() for make in PAGE_BLOCKS.values())
    for name in [each.key for each in SETTINGS] + [action.id for action in ACTIONS]:
        assert f"| `{name}` |" in made


def test_the_example_is_valid() -> None:
    """It can be copied as it is."""
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    add_persona("editor.md", "You edit.")
    configure(example)
    config = read_config()
    assert not config.problems
    assert not resolve_keymap(config).problems
