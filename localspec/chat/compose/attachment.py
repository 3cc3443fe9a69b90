"""Files attached to a message, written for the model in the form of ``file_blocks``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from localspec.base.amounts import number_of
from localspec.base.errors import CapacityError
from localspec.chat.compose.mentions import mentions, readings
from localspec.chat.compose.sizes import kilobytes, lines, size_bytes
from localspec.chat.papers.meaning import Meaning
from localspec.chat.papers.passages import FOUND, PassageIndex, found_for, index_of, taken_of
from localspec.runtime.images import ImageReference, reference_in
from localspec.store.file_blocks import TextFile, split_files

BYTES_A_TOKEN = 3
"""About what prose and code have at least: a text with more bytes than that a token of context is searched."""
PASSAGES_SHARE = 4
"""Passages may fill a fourth of the context ..."""
MAX_PASSAGES_TOKENS = 2000
"""... and take no longer to read than so many tokens."""
MAX_CHIPS = 5
"""The most attachments whose names are shown where a message is shown in brief."""
_SHOWN_LINES, _SHOWN_CHARS = 200, 20_000
"""The most of a message's files that ``in_full`` has."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file, or the text files of a folder."""

    path: str
    """The path as it was written."""
    files: tuple[TextFile, ...]
    skipped_n: int = 0
    """Files of a folder that hold no text, or could not be read."""
    n_ctx: int | None = field(default=None, compare=False)
    """The tokens of context that it goes into, where that is known."""

    @property
    def block(self) -> str:
        """The files as the model reads them."""
        return "\n".join(file.block for file in self.files)

    @property
    def size_bytes(self) -> int:
        return sum(size_bytes(file.text) for file in self.files)

    @property
    def passages_n(self) -> int:
        """The number of passages that it is made of; 0 if it is whole."""
        return sum(file.note.endswith(FOUND) for file in self.files)

    @property
    def image(self) -> ImageReference | None:
        """The image that it is; None for files and folders of text."""
        return reference_in(self.files[0].note, self.files[0].text) if len(self.files) == 1 else None

    @property
    def is_image(self) -> bool:
        return self.image is not None

    @property
    def cut(self) -> str:
        """The part of it that was taken, or the files that were not; empty if all was taken."""
        if not self.path.endswith("/"):
            return "" if self.is_image else taken_of(self.files[0])
        in_part_n = len({file.name for file in self.files if taken_of(file)})
        parts = [f"{in_part_n} in part"] if in_part_n else []
        return ", ".join([*parts, *([f"{self.skipped_n} without text left out"] if self.skipped_n else [])])

    @property
    def chip(self) -> str:
        """Path, size and what was cut, in a few words."""
        if self.is_image:
            return _file_chip(self.files[0])
        is_folder = self.path.endswith("/")
        what = [number_of(self.passages_n, "passage")] if self.passages_n else []
        what += [number_of(len({file.name for file in self.files}), "file")] if is_folder else []
        cut = f" ({self.cut})" if is_folder and self.cut else ""
        what += [self.cut] if not is_folder and self.cut else []
        return _chip(self.path, " of ".join(what) + cut, self.size_bytes)


def _chip(path: str, what: str, size: int) -> str:
    return f"{path}  {what}{', ' if what else ''}{kilobytes(size)}"


def searched(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """The attachments that are too large for the context, of which only passages go along.

    Those that are too large alone; if the rest are together, all.
    """
    texts = tuple(attachment for attachment in attachments if not attachment.is_image)
    n_ctx = min((attachment.n_ctx for attachment in texts if attachment.n_ctx), default=None)
    if n_ctx is None:
        return ()
    room_bytes = n_ctx * BYTES_A_TOKEN
    large = tuple(attachment for attachment in texts if attachment.size_bytes > room_bytes)
    rest_bytes = sum(attachment.size_bytes for attachment in texts if attachment not in large)
    return large if rest_bytes <= room_bytes else texts


def search_of(attachments: Sequence[Attachment], question: str) -> tuple[str, tuple[PassageIndex, ...]]:
    """The text that passages are searched for, and the files they are searched in; no files if all are read whole."""
    own = "".join(_between_mentions(question)).strip()
    return own, tuple(index_of(attachment.files) for attachment in searched(attachments))


def as_read(attachments: Sequence[Attachment], question: str, meaning: Meaning | None = None) -> tuple[Attachment, ...]:
    """The attachments as the model reads them: of those that are searched, the passages found for the question.

    They are found by their words, and by what ``meaning`` knows.
    """
    large = searched(attachments)
    if not large:
        return tuple(attachments)
    n_ctx = min(attachment.n_ctx for attachment in large if attachment.n_ctx)
    room_chars = min(n_ctx // PASSAGES_SHARE, MAX_PASSAGES_TOKENS) * BYTES_A_TOKEN
    own, indexes = search_of(attachments, question)
    passages = found_for(own, indexes, room_chars, meaning.ranked(own, indexes) if meaning else ())
    parted = []
    for attachment in attachments:
        if attachment in large:
            names = {file.name for file in attachment.files}
            attachment = replace(attachment, files=tuple(file for file in passages if file.name in names))
            passages = tuple(file for file in passages if file.name not in names)
        parted.append(attachment)
    return tuple(attachment for attachment in parted if attachment.files)


def _between_mentions(text: str) -> Iterator[str]:
    at = 0
    for mention in mentions(text):
        yield text[at : mention.start]
        at = mention.end
    yield text[at:]


def fitted(attachments: Iterable[Attachment], n_ctx: int | None) -> tuple[Attachment, ...]:
    """The attachments as they go into a context of so many tokens."""
    return tuple(replace(attachment, n_ctx=n_ctx) for attachment in attachments)


def notices(attachments: Sequence[Attachment], question: str, meaning: Meaning | None = None) -> Iterator[str]:
    """A sentence about each attachment of which the model does not read all."""
    read_at = {read.path: read for read in as_read(attachments, question, meaning)}
    for attachment in attachments:
        read = read_at.get(attachment.path)
        if read is not None and read.passages_n and read != attachment:
            yield f"{attachment.path} is too large to be read whole; what fits the question goes along: {_what(read)}."
        elif attachment.cut:
            yield f"{attachment.path} goes along in part: {_what(attachment)}."


def _what(attachment: Attachment) -> str:
    return attachment.chip.removeprefix(attachment.path).strip()


def _file_chip(file: TextFile) -> str:
    if reference_in(file.note, file.text):
        return f"{file.name}  {file.note}"
    return _chip(file.name, file.note, size_bytes(file.text))


def with_files(attachments: Sequence[Attachment], text: str, meaning: Meaning | None = None) -> str:
    """The message that the model reads."""
    return "".join(f"{attachment.block}\n" for attachment in as_read(attachments, text, meaning)) + text


def without_files(content: str) -> tuple[list[str], str]:
    """Undo ``with_files``, for the eye: a chip for each file, and the message."""
    files, text = split_files(content)
    return list(map(_file_chip, files)), text


def attached_in(content: str) -> tuple[tuple[Attachment, ...], str]:
    """Undo ``with_files``, to go on with: the files of a folder that the message mentions are one attachment again."""
    files, text = split_files(content)
    attachments = []
    for path in (path for mention in mentions(text) for path in readings(mention.path)):
        attachment = _lying_at(path, files)
        if attachment.files:
            attachments.append(attachment)
            names = {file.name for file in attachment.files}
            files = [file for file in files if file.name not in names]
    return (*attachments, *(Attachment(file.name, (file,)) for file in files)), text


def _lying_at(path: str, files: Sequence[TextFile]) -> Attachment:
    """The attachment of a path: its own file, or the files below it."""
    if own := tuple(file for file in files if file.name == path):
        return Attachment(path, own)
    folder = as_folder(path)
    return Attachment(folder, tuple(file for file in files if file.name.startswith(folder)))


def as_folder(path: str) -> str:
    """The path of an attached folder, with one slash at its end."""
    return path.rstrip("/") + "/"


def in_full(content: str) -> str:
    """The files and passages of a message for the eye, each under its name; empty if there are none."""
    named = (f"{file.name}  {file.note}".rstrip() + f"\n{file.text}" for file in split_files(content)[0])
    text = "\n".join(named)
    rows = text[:_SHOWN_CHARS].rstrip().split("\n")
    cut = len(rows) > _SHOWN_LINES or len(text) > _SHOWN_CHARS
    return "\n".join([*rows[:_SHOWN_LINES], *(["… and more; an export has all."] if cut else [])])


def brief(content: str, max_lines: int = 12, max_chars: int = 2000) -> str:
    """A message as a transcript shows it: files as chips, and of a long text the beginning and its length."""
    attachments, text = attached_in(content)
    chips = [attachment.chip for attachment in attachments[:MAX_CHIPS]]
    if (more_n := len(attachments) - MAX_CHIPS) > 0:
        chips.append(number_of(more_n, "more file"))
    rows, room_n = text.split("\n"), max_lines - len(chips)
    if len(rows) > room_n + 1:
        text = "\n".join([*rows[:room_n], f"[{lines(len(rows) - room_n)} more]"])
    if len(text) > max_chars:
        text = f"{text[:max_chars]}… [{kilobytes(size_bytes(content))} in all]"
    return "\n".join([*(f"[{chip}]" for chip in chips), text])


def over_context(name: str, token_n: int, n_ctx: int) -> CapacityError:
    """The error for a file with more tokens than the context holds."""
    return CapacityError(
        f"{name} has {token_n:,} tokens, and the context holds {n_ctx:,}.",
        "Attach a part of it.",
    )
