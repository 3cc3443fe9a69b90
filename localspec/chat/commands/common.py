"""Handlers of commands that do the same in every front end. They raise LocalSpecError, which the front end shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from localspec.base.errors import UsageError
from localspec.base.visible import visible_line
from localspec.chat.commands.command import FrontEnd
from localspec.chat.settings.conversation import (
    Changed,
    describe_own,
    describe_personas,
    persona_from,
    schema_from,
    set_from,
    unset_from,
)
from localspec.chat.tools.offered import ServerPrompt
from localspec.config.kinds import NONE
from localspec.config.prompt_template import fields_of, filled
from localspec.config.text_folder import PERSONAS, PROMPTS, TextFolder
from localspec.store.filing import Filing

_EDIT = "edit"
_NO_PROMPTS = (
    "There are no prompts yet. One is a text with fields, such as: Translate into {{language}}: {{text}}. "
    "/prompt edit translate writes it."
)
_UNFILED = "This conversation is in no folder and has no tags; /folder NAME #TAG files it."
_ARCHIVED = "This conversation is in the archive, at the end of the list; /archive takes it out again."


def set_value(chat: FrontEnd, argument: str) -> None:
    """Set something for this conversation or for the pair; without an argument, list what the conversation sets."""
    if argument:
        _adopt(chat, set_from(chat.settings, chat.stored.settings, argument))
    else:
        chat.answer(describe_own(chat.stored.settings), settings=dict(chat.stored.settings))


def unset_value(chat: FrontEnd, argument: str) -> None:
    """Remove one setting of this conversation or all of them, or one of the pair."""
    _adopt(chat, unset_from(chat.settings, chat.stored.settings, argument))


def set_schema(chat: FrontEnd, argument: str) -> None:
    """Hold the replies of this conversation to the JSON Schema in a file, or end that."""
    _adopt(chat, schema_from(chat.settings, chat.stored.settings, argument))


def set_persona(chat: FrontEnd, argument: str) -> None:
    """Have a persona speak in this conversation, or edit one; without an argument, list those there are."""
    if name := _edited(PERSONAS, argument):
        _edit(chat, PERSONAS, name)
    elif argument:
        _adopt(chat, persona_from(chat.settings, chat.stored.settings, argument))
    else:
        chat.answer(describe_personas(chat.settings, chat.stored.settings))


def use_prompt(chat: FrontEnd, argument: str) -> None:
    """Fill in the fields of a prompt, or edit one; without an argument, list those there are."""
    if name := _edited(PROMPTS, argument):
        _edit(chat, PROMPTS, name)
    elif server_prompt := _server_prompt(chat, argument):
        _ask_server(chat, server_prompt)
    elif argument:
        text = PROMPTS.read(argument)
        if fields := fields_of(text):
            chat.ask(f"The prompt {argument}", text, fields, lambda values: chat.put(filled(text, values)))
        else:
            chat.put(text)
    elif there := [*PROMPTS.names(), *(each.full_name for each in chat.tool_use.toolbox.prompts)]:
        chat.answer(
            f"Prompts: {', '.join(there)}; /prompt NAME takes one, /prompt edit NAME writes one.", prompts=there
        )
    else:
        chat.answer(_NO_PROMPTS, prompts=[])


def _server_prompt(chat: FrontEnd, name: str) -> ServerPrompt | None:
    return next((each for each in chat.tool_use.toolbox.prompts if each.full_name == name), None)


def _ask_server(chat: FrontEnd, prompt: ServerPrompt) -> None:
    """Have a server write its prompt, with the fields filled in by the user."""

    def write(values: Mapping[str, str]) -> None:
        chat.put_later(chat.tool_use.toolbox.write(prompt, values))

    if prompt.fields:
        chat.ask(f"The prompt {prompt.full_name}", prompt.about, dict.fromkeys(prompt.fields, ""), write)
    else:
        write({})


def _edited(texts: TextFolder, argument: str) -> str:
    """The name behind the word ``edit``; empty without it. Raises UsageError for the word alone."""
    word, _, name = argument.partition(" ")
    if word.lower() != _EDIT:
        return ""
    if not name.strip() and _EDIT not in texts.names():
        raise UsageError(f"/{texts.noun} edit needs a name.", f"For example: /{texts.noun} edit short")
    return name.strip()


def _edit(chat: FrontEnd, texts: TextFolder, name: str) -> None:
    """Have a text of the user changed, or a new one written."""
    now = texts.read(name) if name in texts.names() else ""
    title = f"The {texts.noun} {texts.checked(name)}"

    def write(answers: Mapping[str, str]) -> None:
        path = texts.write(name, answers[texts.what])
        chat.answer(visible_line(f"Written to {path}; /{texts.noun} {name} takes it."), file=str(path))

    chat.ask(title, texts.about, {texts.what: now}, write)


def file_conversation(chat: FrontEnd, argument: str) -> None:
    """File the open conversation in a folder and under tags; without an argument, say where it is."""
    before = Filing.of(chat.stored.heading)
    if argument:
        after = Filing() if argument.lower() == NONE else Filing.parse(argument)
        # A folder alone leaves the tags, and tags alone leave the folder.
        folder = after.folder or (before.folder if after.tags else "")
        tags = after.tags or (before.tags if after.folder else ())
        chat.stored.change_heading(lambda heading: replace(heading, folder=folder, tags=tags))
    filing = Filing.of(chat.stored.heading)
    where = f"This conversation is filed as {filing}." if filing.folder or filing.tags else _UNFILED
    chat.answer(visible_line(where), folder=filing.folder, tags=list(filing.tags))


def archive_conversation(chat: FrontEnd, argument: str) -> None:
    """Put the open conversation into the archive, or take it out."""
    if not (chat.stored.path or chat.stored.heading.archived):
        raise UsageError("There is nothing to archive.", "Nothing has been said yet.")
    chat.stored.change_heading(lambda heading: replace(heading, archived=not heading.archived))
    archived = chat.stored.heading.archived
    chat.answer(_ARCHIVED if archived else "This conversation is back in the list.", archived=archived)


def _adopt(chat: FrontEnd, changed: Changed) -> None:
    chat.adopt(changed)
    chat.answer(changed.sentence, settings=dict(changed.own))
