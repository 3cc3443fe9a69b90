"""Prompts from files: what is taken, and which line is to blame for what is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from localspec.base.errors import InputError, NotFoundError, UsageError
from localspec.insight.prompt_sets import of_subjects, read_prompts, shipped_prompts
from localspec.runtime.messages import Message, Role

GOOD = '{"prompt": "Hello"}'


def test_the_shipped_set_has_two_of_each_subject() -> None:
    """The six that were promised."""
    counts = Counter(prompt.subject for prompt in shipped_prompts())
    assert counts == dict.fromkeys(("code", "prose", "chat", "json", "long", "copy"), 2)
    assert max(len(prompt.messages[-1].content) for prompt in shipped_prompts()) > 2000


def test_both_forms_are_read(tmp_path: Path) -> None:
    """A prompt with a system prompt, and a conversation; empty lines do not count, but are counted."""
    file = tmp_path / "own.jsonl"
    file.write_text(
        '\ufeff{"prompt": "Hi", "subject": "chat", "system": "Be brief."}\n\n'
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, '
        '{"role": "user", "content": "c\u2028d"}]}\r\n',
        encoding="utf-8",
    )
    first, second = read_prompts(file)
    assert (first.id, first.subject) == ("chat-1", "chat")
    assert first.messages == (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Hi"))
    assert (second.id, second.subject) == ("own-3", "own")
    assert [message.content for message in second.messages] == ["a", "b", "c\u2028d"]
    assert of_subjects((first, second), ["chat"]) == (first,)
    assert of_subjects((first, second), []) == (first, second)
    with pytest.raises(UsageError, match=r"subject 'code'.*chat, own"):
        of_subjects((first, second), ["code"])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"subject": "code"}', "either 'prompt' or 'messages'"),
        ('{"prompt": "a", "messages": []}', "either 'prompt' or 'messages'"),
        ('{"prompt": " "}', "text under 'prompt'"),
        ('{"prompt": 5}', "text under 'prompt'"),
        ('{"prompt": "a", "subject": null}', "text under 'subject'"),
        ('{"prompt": "a", "sytem": "b"}', "'sytem'"),
        ('{"prompt": "\\ud800"}', "half a character"),
        ('{"messages": []}', "list of messages"),
        ('{"messages": [{"role": "me", "content": "a"}]}', "has a message that is not"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "end with a message of the role 'user'"),
        ('{"messages": [{"role": "user", "content": "a"}], "system": "b"}', "beside 'messages'"),
        ('{"prompt": "a", "id": "own-1"}', "the id 'own-1' of line 1"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    """With what is wrong and with what was expected."""
    file = tmp_path / "own.jsonl"
    file.write_text(f"{GOOD}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_prompts(file)
    assert refused.value.message.startswith(f"Line 2 of {file} ")
    assert complaint in refused.value.message
    assert refused.value.hint


def test_a_file_without_prompts_is_refused(tmp_path: Path) -> None:
    """Empty, not text, or not there."""
    file = tmp_path / "own.jsonl"
    with pytest.raises(NotFoundError):
        read_prompts(file)
    file.write_bytes(b"\n \n")
    with pytest.raises(InputError, match="no prompts"):
        read_prompts(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_prompts(file)
