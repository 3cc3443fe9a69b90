"""What a reply shows: no call while it is written, no recipient, no channel, and its reasoning told apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.engine.events import Finished, FinishReason, Round, ToolCall
from localspec.engine.text import Utf8Stream
from localspec.runtime.calls.form import CallForm
from localspec.runtime.calls.message_heads import without_format, without_recipient
from localspec.runtime.calls.prompt import said
from localspec.runtime.calls.reply import ReplyCalls
from localspec.runtime.calls.syntax import HERMES, CallSyntax
from localspec.runtime.reasoning import TAGS, Reasoning, begun_by, tags_in
from tests.fakes import PieceVocab
from tests.runtime.calls.support import (
    BY_NAME,
    HOSTILE,
    LINE,
    TOOLS,
    WRITERS,
    Vocabulary,
    each_syntax,
    events_of,
    in_parts,
    reply_of,
    shown,
)


@each_syntax
def test_a_call_is_not_shown_while_it_is_written(syntax: CallSyntax) -> None:
    """Neither whole nor its first letters; the text before it is, at once."""
    said = "" if syntax.bare else "Let me < see {it}."
    call = WRITERS[syntax.name]("first", {"text": "a < b"})
    after, steps = shown(syntax, [*said, "\n", *call, "\n", *call])
    assert after == said
    assert all(said.startswith(step) for step in steps)
    assert len(said) - len(steps[len(said)]) <= 1
    thought = f"{syntax.reasoning[0]}Perhaps {call}?{syntax.reasoning[1]}"
    assert shown(syntax, [thought, said, call])[0] == thought + said


@each_syntax
def test_control_tokens_of_a_call_are_not_shown(syntax: CallSyntax) -> None:
    parts = in_parts(syntax, WRITERS[syntax.name]("first", {"text": "a"}))
    if len(parts) > 1:
        assert "".join(shown(syntax, parts, syntax.markers)[1]) == ""


@each_syntax
@settings(deadline=None, max_examples=25)
@given(parts=st.lists(HOSTILE.flatmap(lambda call: st.integers(0, len(call)).map(lambda n: call[:n])) | LINE))
def test_what_is_no_call_is_shown_in_the_end(syntax: CallSyntax, parts: list[str]) -> None:
    """All of it, whatever it looked like; nothing is taken back, and nothing told twice."""
    after, steps = shown(syntax, parts)
    assert "".join(parts).startswith(after)
    assert all(later.startswith(step) for step, later in pairwise(steps))
    if not reply_of(syntax, parts).calls:
        assert after == "".join(parts)


@each_syntax
@pytest.mark.parametrize(("reason", "stop"), [(FinishReason.LENGTH, None), (FinishReason.STOP, "\n")])
def test_a_call_that_is_cut_off_is_not_shown(syntax: CallSyntax, reason: FinishReason, stop: str | None) -> None:
    """By the limit or by a stop string; what may only become one is, and nothing is shown twice."""
    said = "" if syntax.bare else "Let me see.\n"
    call = WRITERS[syntax.name]("first", {"text": "a"})
    named_n = call.index("first") + len("first")
    for cut_n in range(named_n, len(call)):
        (*_, finished) = events_of(syntax, [said, call[:cut_n]], reason=reason, stop=stop)
        assert isinstance(finished, Finished)
        assert finished.said_n == len(said.rstrip())
    (*_, finished) = events_of(HERMES, ["a <", "tool"], reason=reason, stop=stop)
    assert isinstance(finished, Finished)
    assert finished.said_n is None


def test_a_reply_about_calls_goes_on_while_it_is_written() -> None:
    """What has begun as calls do is text after a while."""
    parts = ["Write <tool_call> ", *["around it. "] * 40]
    assert len(shown(HERMES, parts)[1][-3]) > 300


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("all", "\n", "Hello", ""), ("", "", "Hello", "")),
        (("all\n\nHe", "llo"), ("\nHe", "llo")),
        (("al", "locate", "\n{}"), ("", "allocate", "\n{}")),
        (("first\n", "{}"), ("first\n", "{}")),
        (("Hello all\n",), ("Hello all\n",)),
        (("all",), ("",)),
    ],
)
def test_a_recipient_is_no_part_of_what_is_said(parts: Sequence[str], shown: Sequence[str]) -> None:
    """Functionary 3.2 names one before each message; the text stays that of the tokens."""
    events = without_recipient(events_of(HERMES, parts))
    *rounds, finished = events
    assert [event.tokens[0].text for event in rounds if isinstance(event, Round)] == list(shown)
    assert isinstance(finished, Finished)
    assert finished.text == "".join(shown)


@pytest.mark.parametrize(
    ("parts", "shown"),
    [
        (("<|channel|>", "final", " ", "<|constrain|>", "json", "<|message|>", "{}"), "<|channel|>final<|message|>{}"),
        (("<|channel|>", "fin", "al json", "<|message|>", "a final word"), "<|channel|>final<|message|>a final word"),
        (("<|channel|>", "final", "<|message|>", "<|constrain|>", "json"), None),
        (("<|channel|>", "commentary to=functions.first ", "<|constrain|>", "json", "<|message|>", "{}"), None),
        (("<|channel|>", "analysis", "<|message|>", "final json"), None),
        (("final json", "<|message|>"), None),
    ],
)
def test_an_answer_begins_behind_its_channel_whatever_its_format(parts: Sequence[str], shown: str | None) -> None:
    """So that it is told apart from the reasoning; heads of calls and all that is said stay as they are."""
    *rounds, finished = without_format(events_of(HERMES, parts))
    assert isinstance(finished, Finished)
    assert finished.text == ("".join(parts) if shown is None else shown)
    texts = [event.tokens[0].text for event in rounds if isinstance(event, Round)]
    assert ("".join(texts), len(texts)) == (finished.text, len(parts))


def test_reasoning_is_told_apart_by_the_tags_of_its_model() -> None:
    controls = {tag.encode(): number for number, tag in enumerate(("<|channel>", "<channel|>", "[THINK]", "<|turn|>"))}
    assert tags_in(controls, ()) == {0: b"<|channel>", 1: b"<channel|>", 2: b"[THINK]"}
    heads = {f"<|{head}|>".encode(): n for n, head in enumerate(("start", "channel", "message", "end", "eom", "begin"))}
    assert tags_in(heads, ()) == {number: head for head, number in heads.items()}
    assert tags_in({b"<|end|>": 1}, ends=(1,)) == {}
    for opening, closing in TAGS.items():
        found = Reasoning.find(f" {opening}\nHm.\n{closing}Yes.")
        assert found is not None
        assert (found.text, found.end) == (("Hm.", len(opening + closing) + 6) if closing else ("", len(opening) + 1))
        assert found.closed
        assert begun_by(f"<assistant>{opening}\n") == bool(closing)


def test_what_the_reply_shows_of_control_tokens() -> None:
    """Those that are part of calls are written out, but for the end of the turn."""
    gpt = BY_NAME["gpt-oss"]
    vocabulary = Vocabulary({b"<|channel|>": 5, b"<|call|>": 6, b"<|other|>": 7}, ends=frozenset({6}))
    calls = ReplyCalls(CallForm(gpt), TOOLS, vocabulary, reasons=False)
    assert calls.written_out == {5: b"<|channel|>"}
    stream = Utf8Stream(PieceVocab((b"a", b"")), {1: b"<|channel|>"})
    assert stream.push(0) + stream.push(1) == "a<|channel|>"


@pytest.mark.parametrize(
    ("name", "thought", "end", "answer"),
    [
        ("gpt-oss", "<|channel|>analysis<|message|>Hm.", "<|end|>", "<|channel|>final<|message|>Yes."),
        ("Muse", " to=self<|message|>Hm.", "<|eom|>", " to=user<|message|>Yes."),
    ],
)
def test_heads_of_messages_are_no_part_of_what_was_said(name: str, thought: str, end: str, answer: str) -> None:
    syntax = BY_NAME[name]
    assert said(f"{thought}{end}<|start|>assistant{answer}", (), syntax) == said(answer, (), syntax) == "Yes."
    call = WRITERS[name]("first", {})
    assert said(f"{thought}{end}<|start|>assistant{call}", (ToolCall("", "first", "{}"),), syntax) == "Hm."


@pytest.mark.parametrize(
    ("name", "thought", "head"),
    [
        ("Muse", " to=self<|message|>Hm.", "<|eom|><|start|>assistant"),
        ("Solar", "<|think|>Hm.", "<|end|><|begin|>assistant"),
    ],
)
def test_the_head_of_a_call_behind_reasoning_is_no_part_of_the_reasoning(name: str, thought: str, head: str) -> None:
    syntax = BY_NAME[name]
    whole = f"{thought}{head}{WRITERS[name]('first', {'text': 'a'})}"
    for controls in ((), syntax.markers):
        parts = in_parts(syntax, whole)
        assert reply_of(syntax, parts, controls).calls
        assert shown(syntax, parts, controls)[0].lstrip() == thought.lstrip()
