"""Text files of the user, read whole or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

from localspec.base.bounded_file import UnfitFileError, read_file
from localspec.base.errors import InputError, NotFoundError
from localspec.base.visible import is_text

MOST_BYTES = 4_000_000
"""The largest text that goes to a model or is a setting: about a million tokens."""


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """A UTF-8 file. Raises NotFoundError, InputError."""
    try:
        return read_file(path, most_bytes).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.", "Convert it first, for example with iconv.") from None
    except ValueError:
        raise NotFoundError(f"{str(path)!r} cannot be the name of a file.", "Check its name.") from None
    except UnfitFileError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Name a smaller file of text.") from None
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.", "Check its name.") from None


def read_setting(path: Path) -> str:
    """A UTF-8 file without the line break that editors put last. Raises NotFoundError, InputError."""
    return read_text(path).removesuffix("\n")


def require_text(text: str, what: str) -> None:
    """Raise InputError for text with bytes that are not UTF-8, which arrive as lone surrogates."""
    if not is_text(text):
        raise InputError(f"{what} is not UTF-8 text.", "Convert it first, for example with iconv.")
