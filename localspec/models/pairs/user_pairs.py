"""The user's ``pairs.toml``: tables are added and removed as text, so that the rest stays as it was written."""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from localspec.base.errors import OWN_FOLDER, ConfigError, InputError, UsageError, explaining
from localspec.base.file_lock import folder_lock
from localspec.base.paths import user_paths
from localspec.base.shared_file import replace_file, resolved
from localspec.base.toml_text import toml_string
from localspec.base.visible import is_text
from localspec.gguf.draft_heads import DRAFT
from localspec.models.pairs.pair import Pair
from localspec.models.pairs.schema import read_pairs, read_text

_HEADER = re.compile(r"\s*\[\[\s*[\"']?pairs[\"']?\s*\]\]\s*(#.*)?$")
_FIELDS = (
    *("repo", "file", "revision", "size_bytes", "about_bytes", "sha256", "architecture", "fingerprint"),
    *("context_length", "licence", "verified"),
)
"""The fields of a model file that its table has."""
_FIELDS_OF_HUB = ("size_bytes", "about_bytes", "verified")
"""Those that only a file on the Hub needs."""
_BY_HAND = "Change it by hand."
_UNSAFE = "{} is written in a way that cannot be changed safely."


def own_file() -> Path:
    return user_paths().config / "pairs.toml"


def own_pairs(path: Path | None = None) -> tuple[Pair, ...]:
    """Read the user's own pairs. Raises ConfigError."""
    folder = own_file().parent
    return read_pairs(path or own_file(), locate=lambda file: folder / file)


def append_pairs(*pairs: Pair) -> Path:
    """Add pairs at the end in one step and return the path.

    Raises ConfigError, InputError, UsageError for an id in use.
    """
    with _locked():
        before = own_pairs()
        taken = {own.id for own in before}
        twice = next((pair.id for pair in pairs if pair.id in taken), None)
        if twice is not None:
            raise UsageError(f"There is a pair {twice!r} already.", "Choose another with --id.")
        text = read_text(own_file(), optional=True)
        tables = "\n".join(map(_table, pairs))
        _replace(f"{text}{_separator(text)}{tables}", before, {pair.id for pair in pairs})
    return own_file()


def remove_pair(pair_id: str) -> None:
    """Remove a pair, with the comments in its table; do nothing if there is none. Raises ConfigError."""
    with _locked():
        rest = _without(pair_id)
        if rest is not None:
            _replace(*rest)


def check_removable(pair_id: str) -> None:
    """Raise ConfigError if the table of a pair cannot be removed, be it for want of rights or for how it is written."""
    with _locked():
        _without(pair_id)
        try:
            tempfile.TemporaryFile(dir=resolved(own_file()).parent).close()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise


def _without(pair_id: str) -> tuple[str, tuple[Pair, ...]] | None:
    """The text of the file without a pair, and its other pairs; None if it has no such pair. Raises ConfigError."""
    before = own_pairs()
    index = next((n for n, pair in enumerate(before) if pair.id == pair_id), None)
    if index is None:
        return None
    lines = read_text(own_file(), optional=True).splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    if len(starts) != len(before):
        raise ConfigError(_UNSAFE.format(own_file()), _BY_HAND)
    start = starts[index]
    end = starts[index + 1] if index + 1 < len(starts) else len(lines)
    # Comments directly above the next table belong to that one.
    while end < len(lines) and end > start + 1 and lines[end - 1].startswith("#"):
        end -= 1
    return "".join(lines[:start] + lines[end:]), (*before[:index], *before[index + 1 :])


def _separator(text: str) -> str:
    if not text:
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def _table(pair: Pair) -> str:
    drafter = None if pair.drafter == DRAFT else pair.drafter
    facts = {"id": pair.id, "title": pair.title, "family": pair.family, "drafter": drafter, "note": pair.note}
    lines = ["[[pairs]]", *_entries(facts)]
    for name, model in (("target", pair.target), ("draft", pair.draft), ("projector", pair.projector)):
        if model is not None:
            fields = {each: getattr(model, each) for each in _FIELDS if model.repo or each not in _FIELDS_OF_HUB}
            lines += ["", f"[pairs.{name}]", *_entries(fields)]
    return "\n".join(lines) + "\n"


def _entries(fields: Mapping[str, str | int | bool | None]) -> Iterator[str]:
    for name, value in fields.items():
        if value:
            yield f"{name} = {_toml_text(value) if isinstance(value, str) else str(value).lower()}"


def _toml_text(text: str) -> str:
    """``text`` as a TOML string. Raises InputError if it is not UTF-8."""
    if not is_text(text):
        raise InputError(f"{text!r} is not UTF-8, and cannot be written to pairs.toml.", "Rename the file.")
    return toml_string(text)


def _replace(text: str, kept: tuple[Pair, ...], added: Set[str] = frozenset()) -> None:
    """Replace the file in one step, if it reads back as the pairs ``kept`` and those ``added``, by id."""

    def check(written: Path) -> None:
        try:
            pairs = own_pairs(written)
        except ConfigError as error:
            # The temporary file's name means nothing to a person.
            message = error.message.replace(str(written), f"{own_file()}, as it would be")
            raise ConfigError(message, "It stays as it was; change it by hand.") from error
        if tuple(pair for pair in pairs if pair.id not in added) != kept or len(pairs) != len(kept) + len(added):
            raise ConfigError(_UNSAFE.format(own_file()), _BY_HAND)

    with _writing(resolved(own_file())):
        replace_file(own_file(), text.encode(), check=check)


@contextmanager
def _locked() -> Iterator[None]:
    with _writing(own_file()), folder_lock(own_file()):
        yield


def _writing(path: Path) -> AbstractContextManager[None]:
    return explaining(ConfigError, f"{path} cannot be written", OWN_FOLDER)
