"""The prompt of ``localspec run``, from a prompt of the user's own, words on the command line, and standard input."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections.abc import Mapping, Sequence

from localspec.base.bounded_file import in_megabytes
from localspec.base.errors import InputError, UsageError
from localspec.config.prompt_template import fields_of, filled
from localspec.config.text_folder import PROMPTS
from localspec.config.texts import require_text

STDIN = "-"
_MOST_BYTES = 64_000_000
PATIENCE_S = 5.0
"""The time to wait for standard input that was not requested with ``-``."""


def own_prompt(name: str, given: Sequence[str]) -> str:
    """A prompt of the user's own with its fields filled in, by ``NAME=VALUE`` or else by their defaults.

    Raises NotFoundError for the name, UsageError for a field that is missing or unknown.
    """
    text = PROMPTS.read(name)
    defaults = fields_of(text)
    values = dict(_field_value(name, each, defaults) for each in given)
    missing = [field for field, default in defaults.items() if not default and field not in values]
    if missing:
        example = " ".join(f'--field "{field}=..."' for field in missing)
        raise UsageError(f"The prompt {name!r} lacks a value for {' and for '.join(missing)}.", f"Add {example}")
    return filled(text, {**defaults, **values})


def _field_value(name: str, given: str, fields: Mapping[str, str]) -> tuple[str, str]:
    """The name and the value in ``NAME=VALUE``."""
    field, equals, value = given.partition("=")
    field = " ".join(field.split())
    require_text(given, f"--field {name}")
    if not equals:
        raise UsageError(f"--field {given!r} has no value.", "Write --field NAME=VALUE.")
    if field not in fields:
        there = f"Its fields are: {', '.join(fields)}." if fields else "It has no fields."
        raise UsageError(f"The prompt {name!r} has no field {field!r}.", there)
    return field, value


def read_prompt(words: Sequence[str], own: str = "") -> str:
    """The text of the prompt.

    Words alone are joined by spaces. A final ``-`` reads all of standard input, however long that takes;
    without words, so does anything but a terminal. Words with something piped in: the words, an empty
    line, and the text. A prompt of the user's ``own`` comes before all that in the same way.
    Raises InputError if nothing is left, or if it is not UTF-8.
    """
    requested = tuple(words[-1:]) == (STDIN,)
    text = " ".join(words[:-1] if requested else words)
    require_text(text, "The prompt")
    text = "\n\n".join(filter(None, (own, text)))
    piped = _read_stdin() if requested or _is_offered(must_be=not text) else ""
    prompt = "\n\n".join(part for part in (text, piped) if part.strip())
    if not prompt:
        raise InputError("The prompt is empty.", 'Say something: localspec run "Tell me a story", or pipe text in.')
    return prompt


def _is_offered(*, must_be: bool) -> bool:
    """True if standard input has text though it was not requested.

    With ``must_be``, whatever is no terminal counts. Otherwise only pipes, sockets and files do, and
    one that stays silent is left alone: it may have been inherited from a program that never writes.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return False
    if must_be:
        return True
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except io.UnsupportedOperation:
        return True
    except OSError:
        return False
    if stat.S_ISREG(mode):
        return True
    return (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and _speaks(descriptor)


def _speaks(descriptor: int) -> bool:
    """True if a pipe has text or ends within ``PATIENCE_S``."""
    ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
    if not ready:
        print(
            f"Standard input stayed silent for {PATIENCE_S:.0f} seconds; the reply begins without it. "
            "End the prompt with - to wait for it.",
            file=sys.stderr,
        )
    return bool(ready)


def _read_stdin() -> str:
    """All of standard input as text, without the last line end."""
    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError(
                f"Standard input is larger than {in_megabytes(_MOST_BYTES)}, more than any context holds.",
                "Pipe in a part of it.",
            )
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"Standard input is not UTF-8 text (byte {error.start + 1} cannot be read).",
            "Convert it first, for example with iconv.",
        ) from None
    return text.removesuffix("\n").removesuffix("\r")
