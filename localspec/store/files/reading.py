"""The reader of files of conversations, of LocalSpec, ChatGPT and LM Studio."""

from __future__ import annotations

import errno
import io
import json
import re
import zipfile
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from localspec.base.bounded_file import UnfitFileError, in_megabytes, read_file
from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import shortened
from localspec.store.documents import ConversationDocument
from localspec.store.files import chatgpt, lm_studio, native_json
from localspec.store.files.json_reader import JsonValue, Malformed
from localspec.store.timestamps import from_micros
from localspec.store.titles import MAX_GIVEN_LENGTH, MAX_TITLE_LENGTH

_KINDS = "It can be a file of `localspec history export --format json`, of ChatGPT (conversations.json) or LM Studio."
_CHATGPT_MEMBER = re.compile(r"conversations(-\d+)?\.json")
"""The name of the file in ChatGPT's archive; large exports have several, which are numbered."""
_MOST_BYTES = 512_000_000
"""The largest file, also inside an archive. In memory it takes several times as much."""
_LONGEST_REASON = 400
_SMALLER = "Split it, or import a part of it."


def read_conversations(path: Path) -> list[ConversationDocument]:
    """The conversations of a file, or of a ChatGPT export as it is downloaded, a zip file.

    Raises NotFoundError if it cannot be read, InputError with place and reason if it is malformed.
    """
    try:
        data = read_file(path, _MOST_BYTES)
        written = from_micros(path.stat().st_mtime_ns // 1000)
    except UnfitFileError as error:
        hint = _SMALLER if error.errno == errno.EFBIG else "Save what it gives in a file."
        raise InputError(f"{path} cannot be read: {error.strerror}.", hint) from None
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.", "Check its name.") from None
    parsed = [_parsed(path, each) for each in _unpacked(path, data)]
    lists = [each if isinstance(each, list) else [each] for each in parsed]
    whole = JsonValue(parsed[0] if len(parsed) == 1 else [*chain.from_iterable(lists)])
    try:
        match _kind(whole.data):
            case "ours":
                documents = native_json.conversations_of(whole)
            case "chatgpt":
                documents = chatgpt.conversations_of(whole)
            case "lm-studio":
                documents = lm_studio.conversations_of(whole, path.name, written)
            case _:
                raise InputError(f"{path} has no conversations that LocalSpec can read.", _KINDS)
        return [_checked(document, number) for number, document in enumerate(documents)]
    except Malformed as error:
        what = shortened(str(error), _LONGEST_REASON)
        raise InputError(f"{path} is malformed: {what}.", "Nothing was imported.") from error
    except RecursionError:
        raise InputError(f"{path} is malformed: it is nested too deeply.", "Nothing was imported.") from None


def _unpacked(path: Path, data: bytes) -> list[bytes]:
    """The members of a zip file with ChatGPT's names; any other data as it is."""
    if not data.startswith(b"PK"):
        return [data]
    found: list[bytes] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in sorted(archive.namelist()):
                if _CHATGPT_MEMBER.fullmatch(Path(name).name):
                    found.append(_member(archive, name, _MOST_BYTES - sum(map(len, found))))
    except Exception as error:  # of the decompressors, about a file that anybody may have made
        raise InputError(f"{path} is a damaged zip file ({error}).", "Download it again.") from error
    if sum(map(len, found)) > _MOST_BYTES:
        raise InputError(f"conversations.json in {path} is larger than {in_megabytes(_MOST_BYTES)}.", _SMALLER)
    if not found:
        raise InputError(f"{path} has no conversations.json in it.", _KINDS)
    return found


def _member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> bytes:
    """A member's content, cut just above the limit: the size in the archive may be false."""
    with archive.open(name) as stream:
        return stream.read(max(0, most_bytes) + 1)


def _parsed(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}).", _KINDS) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{path} is not JSON: {error.msg} at {place}.", _KINDS) from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path} is not JSON that can be read ({error}).", _KINDS) from None


def _kind(data: Any) -> str:
    """The program that wrote the data, recognised by its required fields; empty if unknown."""
    if isinstance(data, dict) and data.get("format") == native_json.FORMAT:
        return "ours"
    first = data[0] if isinstance(data, list) and data else data
    if isinstance(first, dict) and "mapping" in first:
        return "chatgpt"
    if isinstance(data, dict) and isinstance(data.get("messages"), list):
        messages = data["messages"]
        if not messages or (isinstance(messages[0], dict) and "versions" in messages[0]):
            return "lm-studio"
    return ""


def _checked(document: ConversationDocument, number: int) -> ConversationDocument:
    """The conversation with a valid leaf and at most ``MAX_GIVEN_LENGTH`` of its title.

    Raises Malformed unless its messages make a tree.
    """
    title = document.heading.title[:MAX_GIVEN_LENGTH]
    try:
        tree = document.tree
    except ValueError as error:
        short = shortened(title, MAX_TITLE_LENGTH)
        raise Malformed(f"conversation {number + 1} ({short!r}) is not a tree: {error}") from error
    leaf = tree.leaf or tree.newest_leaf(None)
    return replace(document, heading=replace(document.heading, leaf=leaf, title=title))
