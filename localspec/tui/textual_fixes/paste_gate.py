"""Bracketed pastes (xterm's mode 2004) taken out of a terminal's input, whole.

Needed with Textual 8.2.8, by the driver here. Corrects: every character of a paste is parsed by itself, which takes a
second for a megabyte. Not reported upstream yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_LOST_AFTER_N = 10
"""Calls of ``flush`` in a row after which the end of a paste may have been lost, as by a connection that broke off."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """A paste, complete."""

    text: str


class PasteGate:
    """Text in, as it is read; keys and pastes out, in order."""

    def __init__(self) -> None:
        self._held = ""
        """Input that may be the beginning of a paste."""
        self._paste: list[str] | None = None
        self._quiet_n = 0
        """Calls of ``flush`` since text was read."""

    def feed(self, text: str, *, more: bool = False) -> Iterator[str | Pasted]:
        """Take in text that was read. With ``more`` to come at once, even a lone Escape is held until the next text.

        Where the end of a paste was lost, a key with Ctrl, or Enter, ends it after a while, and does nothing else.
        """
        quiet_n, self._quiet_n = self._quiet_n, 0
        if self._paste is not None and quiet_n >= _LOST_AFTER_N and _is_control_key(text):
            pasted, self._paste = "".join(self._paste), None
            yield Pasted(pasted)
            return
        text, self._held = self._held + text, ""
        while text:
            if self._paste is None:
                keys, begin, text = text.partition(_BEGIN)
                if begin:
                    self._paste = []
                else:
                    keys = self._hold_back(keys, more)
                if keys:
                    yield keys
            else:
                # The end may have come in two pieces.
                last = self._paste.pop() if self._paste else ""
                inside, end, text = (last + text).partition(_END)
                self._paste.append(inside)
                if end:
                    yield Pasted("".join(self._paste))
                    self._paste = None

    def flush(self) -> str:
        """The held input, when nothing has followed for a moment."""
        self._quiet_n += 1
        held, self._held = self._held, ""
        return held

    def _hold_back(self, keys: str, more: bool) -> str:
        """Keep the beginning of a paste, if it may be one; a lone Escape is a key unless more is coming."""
        for n in range(len(_BEGIN) - 1, 0 if more else 1, -1):
            if keys.endswith(_BEGIN[:n]):
                self._held = keys[-n:]
                return keys[:-n]
        return keys


def _is_control_key(text: str) -> bool:
    """True for one control character; Escape may begin the end of the paste."""
    return len(text) == 1 and not text.isprintable() and text != "\x1b"
