"""Key maps: a shipped set of keys with those of the user's file over it, checked for clashes.

Keys are named as Textual names them; what cannot be told apart in a terminal is one key here.
"""

from __future__ import annotations

import os
import re
import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from localspec.chat.commands.command import Command, key_label
from localspec.chat.commands.places import PLACES, known, types_at
from localspec.config import Config, Problem
from localspec.config.kinds import NONE
from localspec.config.table import KEYS_SECTION

DEFAULT, VIM, WEB = "default", "vim", "web"

KEYMAPS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    # Escape leaves the prompt, and then letters move; i goes back to writing.
    VIM: {
        "read": "escape,f6",
        "write": "i,a",
        "stop": "ctrl+x,x",
        "older": "ctrl+b,pageup,b",
        "newer": "ctrl+f,pagedown,f",
        "latest": "ctrl+end,G",
        "previous": "alt+up,k",
        "next": "alt+down,j",
        "view": "ctrl+t,t",
        "marks": "f2,m",
        "help": "f1,question_mark",
        "palette": "ctrl+p,colon",
        "help-close": "escape,f1,question_mark,q,enter",
    },
    # None of TAKEN_BY_BROWSERS, and none that would arrive as another key alone: see AS_OTHERS_IN_BROWSERS.
    WEB: {
        "newline": "alt+j",
        "recall": "alt+y",
        "editor": "alt+o",
        "form-newline": "alt+j",
        "form-editor": "alt+o",
        "import": "alt+comma",
        "view": "alt+v",
        "inspect": "alt+i",
        "links": "alt+end",
        "unset": "alt+delete",
        "previous": "alt+up,ctrl+up",
        "next": "alt+down,ctrl+down",
        "block-before": "ctrl+shift+up",
        "block-after": "ctrl+shift+down",
        "race": "alt+g",
        "fast": "alt+z",
        "conversations": "alt+l",
        "search": "alt+w",
        "new": "alt+n",
        "pairs": "alt+p",
        "accept": "alt+a",
        "read": "alt+k",
        "palette": "alt+x",
        "tour": "alt+u",
        "help": "alt+h",
        "quit": "alt+q",
        "inspector-close": "escape,q,alt+i",
        "history-undo": "alt+z",
        "help-close": "escape,alt+h,q,enter",
        "history-file": "alt+e",
        "history-select": "alt+s",
        "history-archive": "alt+r",
        "history-close": "escape,alt+l",
        "pair-hub": "alt+g",
        "pair-draft": "alt+d",
        "pair-files": "alt+o",
        "pair-stop": "alt+s",
        "pair-sooner": "alt+up,ctrl+up",
        "pair-later": "alt+down,ctrl+down",
        "pair-back": "escape,alt+p",
        "search-back": "escape,alt+w",
        "stats-reread": "alt+r",
        "setting-reset": "alt+r",
        "setting-scope": "alt+t",
        "setting-load": "alt+l",
        "setting-reread": "alt+e",
    },
}
"""The shipped sets, as far as they differ from the commands' own keys."""
TAKEN_BY_BROWSERS = frozenset(
    [
        *(f"ctrl+{letter}" for letter in "abcdefghjklnoprstuvwxz"),
        *("ctrl+q", "ctrl+tab", "ctrl+shift+tab", "ctrl+pageup", "ctrl+pagedown", "shift+enter"),
        *("alt+left", "alt+right", "alt+home", "f1", "f3", "f5", "f6", "f7", "f10", "f11", "f12"),
    ]
)
"""Keys that a browser may keep for itself: tabs, windows, searching, reloading; or that it cannot tell from others."""
AS_OTHERS_IN_BROWSERS = {
    "alt+up": "ctrl+up",
    "alt+down": "ctrl+down",
    "alt+pageup": "pageup",
    "alt+pagedown": "pagedown",
    "alt+insert": "insert",
}
"""Keys that the terminal in the page, xterm.js, sends as others; the first two not on a Mac."""

_NAMED_ACTION = re.compile(r"\{([a-z-]+)\}")
_MODIFIERS = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_SHORT = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Signs that Textual names otherwise than Unicode."""
_NAMED = frozenset(
    [
        *("enter", "escape", "tab", "space", "backspace", "delete", "insert"),
        *("home", "end", "pageup", "pagedown", "up", "down", "left", "right"),
    ]
)
_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+left_square_bracket": "escape", "ctrl+h": "backspace"}
"""Keys that terminals cannot tell from others."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys in force."""

    keys: Mapping[str, str]
    """The keys of each command by its id; empty for a command that has none."""
    problems: tuple[Problem, ...] = ()

    def label(self, command: Command) -> str:
        """The key that is shown for a command, as people write it; empty if it has none."""
        keys = self.keys.get(command.id, command.keys)
        return key_label(keys) if keys else ""

    def pressed(self, command: Command) -> str:
        """The key as it is pressed while a turn is chosen: "ee" for a letter that may begin a message, too."""
        label, key = self.label(command), self._keys_of(command)[0]
        modal = any(len(key) == 1 for key in self._keys_of(known()["write"]))
        return 2 * label if command.twice or (len(key) == 1 and not modal) else label

    def _keys_of(self, command: Command) -> list[str]:
        return _split(self.keys.get(command.id, command.keys))

    def way(self, command: Command) -> str:
        """The key of a command; without a key its slash command, without that its title in the palette."""
        return self.label(command) or (f"/{command.slash}" if command.slash else f"{command.title!r} in the palette")

    def worded(self, text: str) -> str:
        """A sentence with keys in place of the ids of commands, as in "{stop} leaves it."."""
        return _NAMED_ACTION.sub(lambda named: self.way(known()[named[1]]), text)


def usual_set(environ: Mapping[str, str]) -> str:
    """The set that holds where none is chosen: one for browsers where Textual draws for one."""
    return WEB if environ.get("TEXTUAL_DRIVER", "").endswith("WebDriver") else DEFAULT


def resolve_keymap(config: Config) -> Keymap:
    """The chosen shipped set, with the keys of the file that do not clash."""
    shipped = _shipped(str(config.values.get("screen.keymap", usual_set(os.environ))))
    problems: list[Problem] = []
    own: dict[str, str] = {}
    for action, keys in config.keys.items():
        try:
            own[action] = _checked(action, keys)
        except _Refused as refusal:
            problems.append(_problem(config, action, str(refusal)))
    while (clash := _clash(shipped, own, config)) is not None:
        action, what = clash
        problems.append(_problem(config, action, what))
        del own[action]
    problems.sort(key=lambda problem: problem.line or 0)
    return Keymap(shipped | own, tuple(problems))


def _shipped(name: str) -> dict[str, str]:
    changed = KEYMAPS[name]
    return {command.id: changed.get(command.id, command.keys) for command in known().values()}


class _Refused(Exception):
    """Keys that cannot be used, with the reason."""


def _checked(action: str, keys: str) -> str:
    """Keys in Textual's words. Raises _Refused."""
    command = known().get(action)
    if command is None:
        close = get_close_matches(action, known(), n=1)
        raise _Refused("there is no such action" + (f"; did you mean {close[0]}?" if close else ""))
    if keys.strip().lower() == NONE:
        return ""
    named = ",".join(_name(key) for key in _split(keys))
    if types_at(command):
        for key in named.split(","):
            if _types(key):
                where = "into the prompt" if command.in_prompt else "there"
                raise _Refused(f"{key_label(key)} could no longer be typed {where}")
    return named


def _split(keys: str) -> list[str]:
    """Keys at commas; a comma by itself is the key."""
    return [","] if keys.strip() == "," else [key.strip() for key in keys.split(",")]


def _name(key: str) -> str:
    *modifiers, last = [*key[:-2].split("+"), "+"] if key == "+" or key.endswith("++") else key.split("+")
    modifiers = [modifier.lower() for modifier in modifiers if modifier]
    if not last or not set(modifiers) <= set(_MODIFIERS):
        raise _Refused(f"there is no key {key!r}; keys are written as ctrl+x, f5, pageup")
    if len(last) == 1:
        name = last if last.isalnum() and not modifiers else last.lower() if last.isalnum() else _sign(last)
    else:
        name = last.lower()
        if not (name in _NAMED or name in _SIGNS or name in _FUNCTION_KEYS):
            raise _Refused(f"there is no key {key!r}; keys are written as ctrl+x, f5, pageup")
    named = "+".join([*dict.fromkeys(modifiers), name])
    return _SAME.get(named, named)


def _sign(character: str) -> str:
    """Textual's name of a sign."""
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return _SHORT.get(name, name)


_SIGNS = frozenset(_sign(character) for character in string.punctuation)
_FUNCTION_KEYS = frozenset(f"f{number}" for number in range(1, 25))


def _types(key: str) -> bool:
    """True if a key writes a character into a field that has the focus."""
    return len(key) == 1 or key in _SIGNS or key == "space"


def _clash(shipped: Mapping[str, str], own: Mapping[str, str], config: Config) -> tuple[str, str] | None:
    """The first clash of the file's keys in a place: the command that loses the key, and the reason."""
    for place in PLACES:
        owners: dict[str, str] = {}
        for action in sorted((each.id for each in place.commands), key=lambda action: _place(action, own, config)):
            for key in filter(None, own.get(action, shipped[action]).split(",")):
                other = owners.setdefault(key, action)
                if other != action and (action in own or other in own):
                    loser = action if action in own else other
                    winner = other if loser == action else action
                    return loser, f"{key_label(key)} is the key of {winner} already; give that another, or {NONE!r}"
    return None


def _place(action: str, own: Mapping[str, str], config: Config) -> tuple[bool, int]:
    """Shipped keys come first, the file's own by line."""
    return action in own, config.lines.get(f"{KEYS_SECTION}.{action}", 0)


def _problem(config: Config, action: str, what: str) -> Problem:
    name = f"{KEYS_SECTION}.{action}"
    return config.problem(name, f"{name}: {what}")
