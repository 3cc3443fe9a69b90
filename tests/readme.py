"""The parts of the README and of the pages in docs/ that are generated from the program itself.

python -m tests.readme      writes them anew (make docs does, too)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tests.syntax_tree import syntax_tree

if TYPE_CHECKING:
    from localspec.config import Setting

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCS = ROOT / "docs"
SETTINGS_PAGE = DOCS / "settings.md"
KEYS_PAGE = DOCS / "keys.md"
COMMANDS_PAGE = DOCS / "commands.md"
EVENTS_PAGE = DOCS / "events.md"
EXIT_CODES_PAGE = DOCS / "exit_codes.md"
ARCHITECTURE_PAGE = DOCS / "architecture.md"
METRICS_PAGE = DOCS / "metrics.md"
HOW_IT_WORKS_PAGE = DOCS / "how_it_works.md"
_BLOCK = re.compile(r"<!-- generated: (?P<name>[a-z-]+) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
_SHOWN = {"run"}
"""Commands whose options have a table of their own."""


def keys() -> str:
    """Actions of the chat screen with their keys and slash commands."""
    from localspec.chat.commands.chat import CHAT
    from localspec.chat.commands.command import key_label

    rows = [f"| {key_label(a.keys)} | {f'`/{a.slash}`' if a.slash else ''} | {a.help} |" for a in CHAT.commands]
    return "\n".join(["| Key | Command | |", "| --- | --- | --- |", *rows])


def line_commands() -> str:
    """Slash commands of the line mode."""
    from localspec.line.commands import commands

    forms = [command.form for command in commands()]
    rows = [f"| `{_cell(f'/{form.name} {form.argument}'.strip())}` | {form.help} |" for form in forms]
    return "\n".join(["| Command | |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    """``text`` with its bars told from those between cells."""
    return text.replace("|", "\\|")


def marks() -> str:
    """The legend of the marks by origin."""
    from localspec.base.token_legend import MEANINGS
    from localspec.engine.events import Origin
    from localspec.tui.tokens.palette import GHOST_MEANING

    looks = {
        Origin.ACCEPTED: "blue, underlined",
        Origin.CORRECTED: "orange, bold",
        Origin.BONUS: "yellow, bold and underlined",
        Origin.PLAIN: "ordinary text",
    }
    rows = [f"| {origin} | {look} | {MEANINGS[origin]} |" for origin, look in looks.items()]
    rows.append(f"| rejected | dim, struck through | {GHOST_MEANING} |")
    return "\n".join(["| Token | Looks, on a dark ground | Means |", "| --- | --- | --- |", *rows])


def options_table(command: click.Command) -> str:
    """The options of a command."""
    rows = (f"| `{names}` | {text} |" for names, text in _options(command))
    return "\n".join(("| Option | What it does |", "| --- | --- |", *rows))


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    from localspec.cli.commands import HELP_OPTIONS

    # A command keeps the help option it was first asked for, whatever that was called there.
    command = click.Command(command.name, params=list(command.params))
    context = click.Context(command, help_option_names=list(HELP_OPTIONS))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = record
            yield names.replace("|", "\\|"), text.replace("|", "\\|")


def run_options() -> str:
    """The options of ``localspec run``, which the chat shares."""
    from localspec.cli.run import run

    return options_table(run)


def _walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield (*path, name), command.commands[name]
            yield from _walk(command.commands[name], (*path, name))


def _commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, those of a group after it."""
    from localspec.cli.commands import localspec

    return _walk(localspec, ())


def commands() -> str:
    """Every command in a sentence."""
    rows = [f"| `localspec {' '.join(path)}` | {each.get_short_help_str(300)} |" for path, each in _commands()]
    return "\n".join(["| Command | What it does |", "| --- | --- |", *rows])


def other_options() -> str:
    """For each command the options that are not, word by word, those of ``localspec run``."""
    shared = {*run_options().splitlines()[2:], "| `-h, --help` | Show this message and exit. |"}
    parts = []
    for path, command in _commands():
        head, rule, *rows = options_table(command).splitlines()
        own = [row for row in rows if row not in shared]
        if own and path[-1] not in _SHOWN:
            parts.append("\n".join([f"### localspec {' '.join(path)}", "", head, rule, *own]))
    return "\n\n".join(parts)


def events() -> str:
    """The fields of every kind of event, with the sentences of the dataclasses they are made of."""
    from localspec.engine.events import FinishReason, Origin

    parts = [
        (
            "start",
            "Started",
            "`localspec run` adds `pair`, `target`, `draft`, `projector`, `n_ctx`, `device`, `files` and `options`.",
        ),
        ("round", "Round", "`failures` is left out where there are none, and `held_n` where it is 0."),
        ("done", "Finished", f"`reason` is one of {', '.join(FinishReason)}."),
        ("tokens of a round", "Token", f"`origin` is one of {', '.join(Origin)}."),
        ("rejected and ignored of a round", "Proposal", ""),
        ("failures of a round", "DrafterFailure", ""),
        ("timings of done", "Timings", ""),
    ]
    tables = []
    for title, name, note in parts:
        rows = [f"| `{field}` | {kind} | {text} |" for field, kind, text in event_fields(name)]
        head = [f"## {title}", "", *([note, ""] if note else []), "| Field | Value | |", "| --- | --- | --- |"]
        tables.append("\n".join([*head, *rows]))
    return "\n\n".join(tables)


_JSON_NAMES = {"draft_s": "draft_ms", "verify_s": "verify_ms", "total_s": "round_ms"}
_NOT_WRITTEN = {"logprobs"}
"""Fields that no command writes: a client of the server alone can ask for them."""
_JSON_KINDS = {"int": "number", "float": "number", "str": "text", "bool": "true or false", "Timings": "object"}


def event_fields(name: str) -> Iterator[tuple[str, str, str]]:
    """Name, kind of value and sentence of each field of a dataclass of events, as JSON has them."""
    engine = ROOT / "localspec" / "engine"
    trees = [syntax_tree(engine / file) for file in ("events.py", "timings.py")]
    (found,) = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    for field, after in zip(found.body, [*found.body[1:], None], strict=True):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and field.target.id not in _NOT_WRITTEN
        ):
            text = (
                str(after.value.value) if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            )
            for old, new in (*_JSON_NAMES.items(), ("``", "`"), ("None", "null")):
                text = text.replace(old, new)
            yield _JSON_NAMES.get(field.target.id, field.target.id), _kind(field.annotation), " ".join(text.split())


def _kind(annotation: ast.expr) -> str:
    kind, _, or_null = ast.unparse(annotation).partition(" | ")
    word = {"tuple": "array", "dict": "object"}.get(kind.partition("[")[0], _JSON_KINDS.get(kind, "text"))
    return f"{word} or null" if or_null else word


def exit_codes() -> str:
    """One table for all commands."""
    from localspec.cli.commands import exit_codes as all_codes

    rows = (f"| {code} | {meaning} |" for code, meaning in all_codes())
    return "\n".join(("| Exit code | Meaning |", "| ---: | --- |", *rows))


def environment() -> str:
    """The environment variables."""
    from localspec.cli.commands import ENVIRONMENT

    rows = (f"| `{name.replace(', ', '`, `')}` | {meaning} |" for name, meaning in ENVIRONMENT.items())
    return "\n".join(("| Variable | Meaning |", "| --- | --- |", *rows))


def settings() -> str:
    """Every setting, by section."""
    from localspec.config import SETTINGS
    from localspec.config.table import SECTIONS

    parts = []
    for section, about in SECTIONS.items():
        rows = [f"| `{each.key}` | {' | '.join(_cells(each))} |" for each in SETTINGS if each.section == section]
        head = ["Key", "Value", "Built in", "What it does", "May differ by", "Takes effect"]
        table = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows]
        parts.append("\n".join([f"### [{section}]", "", about, "", *table]))
    return "\n\n".join(parts)


def _cells(setting: Setting) -> list[str]:
    differs = {"pair": setting.per_pair, "conversation": setting.per_conversation}
    by = ", ".join(name for name, may in differs.items() if may)
    return [setting.kind.form, setting.default_words, setting.description, by, str(setting.applies)]


def drafters() -> str:
    """Every drafter with the sentence of its file."""
    from localspec.engine.drafters import drafter_declarations

    rows = [f"| `{name}` | {each.about} |" for name, each in drafter_declarations().items()]
    return "\n".join(["| Drafter | |", "| --- | --- |", *rows])


def bindings() -> str:
    """Every action with its id and its keys in each shipped set."""
    from localspec.chat.commands.keymap import KEYMAPS
    from localspec.chat.commands.places import known

    names = list(KEYMAPS)
    rows = [
        f"| `{a.id}` | " + " | ".join(f"`{KEYMAPS[name].get(a.id, a.keys)}`" for name in names) + f" | {a.help} |"
        for a in known().values()
    ]
    return "\n".join([f"| Id | {' | '.join(names)} | |", f"| --- |{' --- |' * len(names)} --- |", *rows])


def metrics() -> str:
    """Every metric with its type and labels."""
    from localspec.insight.metrics.names import documentation

    return documentation().rstrip()


def packages() -> str:
    """Every package with the first sentence of its docstring."""
    rows = []
    for path in sorted((ROOT / "localspec").glob("*/__init__.py")):
        text = ast.get_docstring(syntax_tree(path)) or ""
        rows.append(f"| `{path.parent.name}` | {' '.join(text.split(chr(10) * 2)[0].split())} |")
    return "\n".join(["| Package | |", "| --- | --- |", *rows])


BLOCKS: Mapping[str, Callable[[], str]] = {
    "bindings": bindings,
    "commands": commands,
    "drafters": drafters,
    "environment": environment,
    "events": events,
    "exit-codes": exit_codes,
    "keys": keys,
    "line-commands": line_commands,
    "marks": marks,
    "metrics": metrics,
    "other-options": other_options,
    "packages": packages,
    "run-options": run_options,
    "settings": settings,
}
GENERATED: Mapping[Path, tuple[str, ...]] = {
    README: ("marks",),
    ARCHITECTURE_PAGE: ("packages",),
    COMMANDS_PAGE: ("commands", "run-options", "other-options"),
    EVENTS_PAGE: ("events",),
    EXIT_CODES_PAGE: ("exit-codes", "environment"),
    HOW_IT_WORKS_PAGE: ("drafters",),
    KEYS_PAGE: ("keys", "line-commands", "bindings"),
    METRICS_PAGE: ("metrics",),
    SETTINGS_PAGE: ("settings",),
}
"""The generated blocks of each document, in order."""


def generated(text: str) -> str:
    """``text`` with every generated block made anew."""
    return _BLOCK.sub(lambda m: f"<!-- generated: {m['name']} -->\n{BLOCKS[m['name']]()}\n<!-- end -->", text)


def block_names(text: str) -> list[str]:
    """The names of the generated blocks in ``text``, in order."""
    return [match["name"] for match in _BLOCK.finditer(text)]


if __name__ == "__main__":
    for document in GENERATED:
        document.write_text(generated(document.read_text(encoding="utf-8")), encoding="utf-8")
