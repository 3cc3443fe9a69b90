"""What a terminal sends, cut anywhere: the same keys, the same pastes, in the same order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from localspec.tui.textual_fixes.driver import _Messages
from localspec.tui.textual_fixes.paste_gate import Pasted, PasteGate

BEGIN, END = "\x1b[200~", "\x1b[201~"

keys = st.text("ab\x1b[20~1\u00e9", max_size=8).filter(lambda text: BEGIN not in text)
pastes = st.text("ab\x1b[20~1\n", max_size=12).filter(lambda text: END not in text)


@settings(deadline=None)
@given(st.lists(st.tuples(keys, pastes), max_size=4), st.lists(st.integers(0, 80), max_size=12), st.booleans())
def test_however_it_is_cut_pastes_come_out_whole(parts: list[tuple[str, str]], cuts: list[int], more: bool) -> None:
    """Nothing is lost, nothing changes places, and a paste is one piece."""
    sent = "".join(f"{typed}{BEGIN}{pasted}{END}" for typed, pasted in parts)
    gate = PasteGate()
    places = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    pieces: list[str | Pasted] = []
    for begin, end in pairwise(places):
        pieces += gate.feed(sent[begin:end], more=more or sent[:end].endswith("\x1b"))
    assert [piece.text for piece in pieces if isinstance(piece, Pasted)] == [pasted for _, pasted in parts]
    shown = "".join(f"{BEGIN}{piece.text}{END}" if isinstance(piece, Pasted) else piece for piece in pieces)
    assert shown + gate.flush() == sent


def test_a_lone_escape_is_a_key_at_once() -> None:
    """Unless the read was full, and more is there to be read."""
    assert list(PasteGate().feed("\x1b")) == ["\x1b"]
    gate = PasteGate()
    assert list(gate.feed("\x1b", more=True)) == []
    assert gate.flush() == "\x1b"


def messages(*reads: bytes) -> list[str]:
    """What the app is told, in words."""
    source = _Messages(XTermParser())
    told = [message for read in reads for message in (*source.take(read), *source.tick())]
    return [
        f"paste {message.text}" if isinstance(message, events.Paste) else str(message.character)
        for message in told
        if isinstance(message, events.Paste | events.Key)
    ]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    """Typed or pasted, they become a sign that says so; a character cut by a read is whole."""
    assert messages(b"a\xff\xfeb") == ["a", "\ufffd", "\ufffd", "b"]
    assert messages(b"\x1b[200~a\xffb\x1b[201~c") == ["paste a\ufffdb", "c"]
    assert messages("é".encode()[:1], "é".encode()[1:]) == ["é"]


def test_a_paste_with_terminal_codes_in_it_stays_a_paste() -> None:
    """None of them is taken for a key."""
    assert messages(b"\x1b[200~\x1b[A\x1b[31mred\x1b[0m\x1b[20", b"1~x") == ["paste \x1b[A\x1b[31mred\x1b[0m", "x"]


def test_a_paste_whose_end_was_lost_ends_with_a_control_key() -> None:
    """After a pause, as when a connection broke off; the key does nothing else. Until then nothing can end it but
    its end: text that stalls on its way stays one paste, line breaks and all."""
    gate = PasteGate()
    assert not list(gate.feed(f"a{BEGIN}b"))[1:]
    assert not list(gate.feed("\r"))
    for _ in range(20):
        gate.flush()
    assert not list(gate.feed("c\rd"))
    assert not list(gate.feed("\x11"))
    for _ in range(20):
        gate.flush()
    assert list(gate.feed("\x11")) == [Pasted("b\rc\rd\x11")]
    assert list(gate.feed("\x11e")) == ["\x11e"]
