"""Text files of the user's, read with a sentence for whatever is wrong with them."""

from __future__ import annotations

from pathlib import Path

from localspec.errors import InputError, NotFoundError


def read_text(path: Path) -> str:
    """A UTF-8 file, without the line break that editors put last. Raises NotFoundError, InputError."""
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.", "Convert it first, for example with iconv.") from None
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}.", "Check its name.") from None
