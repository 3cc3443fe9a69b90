"""The parts of the README and of the page of settings that are generated from the program itself.

python -m tests.readme      writes them anew (make docs)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
SETTINGS_PAGE = README.parent / "docs" / "settings.md"
_BLOCK = re.compile(r"<!-- generated: (?P<name>[a-z-]+) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)


def keys() -> str:
    """What can be done on the chat screen, and how."""
    from localspec.chat.commands.command import key_label
    from localspec.chat.commands.places import ACTIONS

    rows = [f"| {key_label(a.keys)} | {f'`/{a.command}`' if a.command else ''} | {a.help} |" for a in ACTIONS]
    return "\n".join(["| Key | Command | |", "| --- | --- | --- |", *rows])


def marks() -> str:
    """The legend."""
    from localspec.engine.events import Origin
    from localspec.tui.tokens.palette import GHOST_MEANING, MEANINGS

    looks = {
        Origin.ACCEPTED: "blue, underlined",
        Origin.CORRECTED: "orange, bold",
        Origin.BONUS: "yellow, bold and underlined",
        Origin.PLAIN: "ordinary text",
    }
    rows = [f"| {origin} | {look} | {MEANINGS[origin]} |" for origin, look in looks.items()]
    rows.append(f"| rejected | dim, struck through | {GHOST_MEANING} |")
    return "\n".join(["| Token | Looks, on a dark ground | Means |", "| --- | --- | --- |", *rows])


def run_options() -> str:
    """The options of ``localspec run``, which the chat shares."""
    from localspec.cli.docs import options_table
    from localspec.cli.run import run

    return options_table(run)


def exit_codes() -> str:
    """One table for all commands."""
    from localspec.cli.docs import exit_code_table

    return exit_code_table()


def environment() -> str:
    """The environment variables."""
    from localspec.cli.docs import environment_table

    return environment_table()


def settings() -> str:
    """Every setting, by section."""
    from localspec.config import SETTINGS
    from localspec.config.table import SECTIONS

    parts = []
    for section, about in SECTIONS.items():
        rows = [
            f"| `{each.key}` | {each.kind.form} | {each.default_words} | {each.description} |"
            for each in SETTINGS
            if each.section == section
        ]
        table = ["| Key | Value | Built in | What it does |", "| --- | --- | --- | --- |", *rows]
        parts.append("\n".join([f"### [{section}]", "", about, "", *table]))
    return "\n\n".join(parts)


def bindings() -> str:
    """Every action with its id and its keys in each shipped set."""
    from localspec.chat.commands.keymap import KEYMAPS
    from localspec.chat.commands.places import KNOWN

    names = list(KEYMAPS)
    rows = [
        f"| `{a.id}` | " + " | ".join(f"`{KEYMAPS[name].get(a.id, a.keys)}`" for name in names) + f" | {a.help} |"
        for a in KNOWN.values()
    ]
    return "\n".join([f"| Id | {' | '.join(names)} | |", f"| --- |{' --- |' * len(names)} --- |", *rows])


BLOCKS: Mapping[str, Callable[[], str]] = {
    "keys": keys,
    "marks": marks,
    "run-options": run_options,
    "exit-codes": exit_codes,
    "environment": environment,
}
PAGE_BLOCKS: Mapping[str, Callable[[], str]] = {"settings": settings, "bindings": bindings}


def generated(text: str) -> str:
    """``text`` with every generated block made anew."""
    blocks = {**BLOCKS, **PAGE_BLOCKS}
    return _BLOCK.sub(lambda m: f"<!-- generated: {m['name']} -->\n{blocks[m['name']]()}\n<!-- end -->", text)


def block_names(text: str) -> list[str]:
    """The names of the generated blocks in ``text``, in order."""
    return [match["name"] for match in _BLOCK.finditer(text)]


if __name__ == "__main__":
    for document in (README, SETTINGS_PAGE):
        document.write_text(generated(document.read_text(encoding="utf-8")), encoding="utf-8")
