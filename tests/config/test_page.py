"""The pages of settings and keys name everything that can be set, and their examples are valid."""

from __future__ import annotations

import re

import pytest

from localspec.chat.commands.chat import CHAT
from localspec.chat.commands.keymap import resolve_keymap
from localspec.config import SETTINGS, read_config
from tests.config.support import add_persona, configure
from tests.readme import KEYS_PAGE, SETTINGS_PAGE

TEXT = SETTINGS_PAGE.read_text(encoding="utf-8")


def test_everything_is_on_the_page() -> None:
    """Every setting and every action, under its name; the generated parts are compared elsewhere."""
    made = TEXT + KEYS_PAGE.read_text(encoding="utf-8")
    for name in [each.key for each in SETTINGS] + [action.id for action in CHAT.commands]:
        assert f"| `{name}` |" in made


@pytest.mark.parametrize("text", [TEXT, KEYS_PAGE.read_text(encoding="utf-8")], ids=["settings", "keys"])
def test_the_example_is_valid(text: str) -> None:
    """It can be copied as it is."""
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    add_persona("editor.md", "You edit.")
    configure(example)
    config = read_config()
    assert not config.problems
    assert not resolve_keymap(config).problems
