"""Every refused proposal is told once, and nothing that is to be redacted is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import InputError, NotFoundError
from localspec.engine.events import Event, Finished, FinishReason, Origin, Proposal, Round, Started, Token
from localspec.engine.tally import Tally
from localspec.insight.stats.disagreements import Disagreements
from localspec.insight.stats.redaction import REPLACEMENT, Redaction, read_rules
from localspec.store import ConversationDocument, Store
from tests.insight.stats.support import Kind, fill
from tests.store.support import ABOUT, branched

SECRET = Redaction([re.compile(r"sk-\d+")])


def said(store: Store, question: str, rounds: list[tuple[list[str], str]]) -> ConversationDocument:
    """A question and a reply of rounds, each of tokens and the proposal that the last of them replaced."""
    thread = store.begin("Be brief.")
    thread.ask(question)
    recorder = thread.begin_reply(ABOUT)
    tally = Tally()
    made: list[Event] = []
    for index, (texts, refused) in enumerate(rounds):
        tokens = [Token(n, text, Origin.ACCEPTED, "draft") for n, text in enumerate(texts[:-1])]
        last = Token(9, texts[-1], Origin.CORRECTED)
        rejected = (Proposal(7, refused, "draft"), Proposal(8, " and on", "suffix"))
        made.append(Round(index, "draft", 3, (*tokens, last), rejected, (), 0.1, 0.2, 0.3))
    for event in (Started(3, 0, 1), *made, Finished(FinishReason.STOP, "", tally.timings())):
        recorder.receive(event)
    return store.document(thread.id)


def test_each_refusal_is_one_record(mixed: Store) -> None:
    """Counted by hand from the rounds; accepted proposals and those never judged are none."""
    refusals_n = 0
    for summary in mixed.conversations():
        document = mixed.document(summary.heading.id)
        rounds = [round_ for message in document.messages for part in message.parts for round_ in part.rounds]
        by_hand = [(round_.rejected, round_.tokens[-1]) for round_ in rounds if round_.rejected]
        found = list(Disagreements(Redaction()).of(document))
        assert [(each.rejected, each.target) for each in found] == by_hand
        refusals_n += len(found)
        suffix = list(Disagreements(Redaction(), drafter="suffix").of(document))
        assert suffix == [each for each in found if each.rejected[0].drafter == "suffix"]
    assert refusals_n > 100


def test_a_record_has_all_that_led_to_it(store: Store) -> None:
    """The system prompt, the question, the reply up to there, what was proposed and what the target said."""
    document = said(store, "Why?", [(["It ", "is"], "was"), ([" so"], " not")])
    first, second = (each.to_dict() for each in Disagreements(Redaction()).of(document))
    lead = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    assert first["context"] == [*lead, {"role": "assistant", "content": "It "}]
    assert first["agreed"] == [{"id": 0, "text": "It "}]
    assert first["rejected"][0] == {"id": 7, "text": "was", "drafter": "draft"}
    assert first["target"] == {"id": 9, "text": "is"}
    assert second["context"] == [*lead, {"role": "assistant", "content": "It is"}]
    assert (first["target_model"], first["draft_model"], first["pair"]) == ("target.gguf", None, "builtin")


def test_a_round_without_tokens_is_passed_over(store: Store) -> None:
    """Files have brought some into histories."""
    whole = said(store, "Why?", [(["It ", "is"], "was"), ([" so"], " not")])
    question, reply = whole.messages
    (part,) = reply.parts
    holed = replace(part, rounds=(replace(part.rounds[0], tokens=()), *part.rounds))
    with_hole = replace(whole, messages=(question, replace(reply, parts=(holed,))))
    assert list(Disagreements(Redaction()).of(with_hole)) == list(Disagreements(Redaction()).of(whole))


@settings(max_examples=20)
@given(st.integers(0, 60))
def test_a_context_is_as_long_as_was_said(chars: int) -> None:
    """The last characters of all that was said before."""
    store = Store.in_memory()
    document = said(store, "Why is that?", [(["It ", "is"], "was"), ([" so"], " not")])
    whole = "Be brief.Why is that?It is"
    *_, last = Disagreements(Redaction(), chars).of(document)
    assert "".join(message.content for message in last.context) == whole[max(0, len(whole) - chars) :]
    store.close()


def test_every_branch_and_no_deleted_message(store: Store) -> None:
    """Versions count each; what was deleted does not."""
    thread = branched(store)
    document = store.document(thread.id)
    alive = {message.node.id for message in document.messages if message.node.deleted is None and message.parts}
    assert {each.message for each in Disagreements(Redaction()).of(document)} == {
        message.node.id
        for message in document.messages
        if message.node.id in alive and any(part.rounds for part in message.parts)
    }


def test_a_secret_is_never_told(store: Store) -> None:
    """Whether it was asked, said, cut in the middle, refused, or would have come about from what was refused."""
    document = said(
        store,
        "My key is sk-123, keep it.",
        [
            (["Your ", "key"], "sk-999"),
            ([" is ", "sk", "-", "1"], "none"),
            (["23"], "9"),
            (["."], "45"),
            ([" sk", "-"], "+"),
            (["no"], "77"),
            ([" Bye"], "!"),
        ],
    )
    gathered = Disagreements(SECRET)
    # Ids and times are drawn and may have any digits.
    about = {"conversation", "message", "at"}
    told = [each.to_dict().items() for each in gathered.of(document)]
    lines = [json.dumps({key: value for key, value in items if key not in about}) for items in told]
    assert gathered.withheld_n == 5
    assert len(lines) == 2
    for line in lines:
        assert not re.search(r"sk-\d|123", line)
        assert REPLACEMENT in line
    assert "Your key is " + REPLACEMENT + ". sk-no" in lines[-1]


def test_without_rules_nothing_is_withheld(store: Store) -> None:
    """All is there, in its own words."""
    document = said(store, "My key is sk-123.", [(["sk-1"], "x"), (["23"], "y")])
    gathered = Disagreements(Redaction())
    assert len(list(gathered.of(document))) == 2
    assert gathered.withheld_n == 0


@given(st.text("ab1-"), st.lists(st.sampled_from(("a+", "b1", "1-", "(ab)+", "x*"))))
def test_redaction_leaves_what_does_not_match(text: str, rules: list[str]) -> None:
    """Pieces outside of all matches stay in their order; each character of a match is gone."""
    redaction = Redaction([re.compile(rule) for rule in rules])
    covered = {n for rule in rules for match in re.finditer(rule, text) for n in range(*match.span())}
    kept = "".join(sign for n, sign in enumerate(text) if n not in covered)
    assert redaction.clean(text).replace(REPLACEMENT, "") == kept


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    """And what is wrong with them is said with its line."""
    file = tmp_path / "rules"
    file.write_text("# keys\n\nsk-\\d+\n[\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 4"):
        read_rules(file)
    file.write_text("# keys\n\n  sk-\\d+  \n", encoding="utf-8")
    assert read_rules(file).clean("my sk-12") == f"my {REPLACEMENT}"
    file.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match="no rules"):
        read_rules(file)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_rules(file)
    with pytest.raises(NotFoundError):
        read_rules(tmp_path)


def test_only_one_pair(store: Store) -> None:
    """As asked."""
    document = fill(store, *[Kind(), Kind(pair="b")] * 5, seed=4)
    found = list(Disagreements(Redaction(), pair_id="b").of(document))
    assert {each.about.pair_id for each in found} == {"b"}
