"""Whole replies of the built-in pair: their text, their ends, and what the caches keep between them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from localspec.chat.tour import QUESTION
from localspec.engine.cancel import Cancellation
from localspec.engine.dist import Dist, SeededRng
from localspec.engine.events import Finished, FinishReason, PromptProgress, Round, Started
from localspec.engine.model import Logits
from localspec.engine.sampling import Greedy
from localspec.engine.settings import Sampling
from localspec.models.pairs import BUILTIN_ID, load_catalogue
from localspec.runtime.load import OpenPair, open_pair
from localspec.runtime.messages import Message, ReplyOptions, Role
from localspec.runtime.options import LoadOptions
from localspec.runtime.prompting import Prompter
from localspec.runtime.sampling import build_sampling
from tests.builtin import DRAFT, NOISE, TARGET, open_target
from tests.real.duo import Duo, Reply
from tests.real.prompts import hundred_prompts

DEPTHS = (0, 1, 3, 7)
STORY = "Tell me a story about a fox."


class TestText:
    @pytest.mark.parametrize("depth", DEPTHS)
    def test_it_is_whole_characters_whatever_the_tokens(self, duo: Duo, depth: int) -> None:
        """Near to pure chance, single bytes come in any order: the text is what a decoder makes of them."""
        sampler = duo.sampler(Sampling(temperature=50.0, top_k=0, top_p=1.0, min_p=0.0))
        reply = duo.ask(STORY, depth, sampler=sampler, max_tokens=300)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        expected = "".join(decoder.decode(duo.target.vocab.piece(token)) for token in reply.ids)
        assert reply.finished.text == expected
        assert "".join(token.text for token in reply.tokens) == expected
        expected.encode()

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_stop_string_and_all_after_it_are_left_out(self, duo: Duo, depth: int) -> None:
        """Wherever it lies among the tokens, nothing of it is ever shown."""
        plain = duo.ask(STORY, 0).finished.text
        stop = plain[30:37]
        reply = duo.ask(STORY, depth, stop=[stop])
        assert reply.finished.text == plain[: plain.index(stop)]
        assert reply.finished.reason is FinishReason.STOP
        assert "".join(token.text for token in reply.tokens) == reply.finished.text

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_token_limit_is_kept_to_the_token(self, duo: Duo, depth: int) -> None:
        for limit in (1, 2, 5, 9):
            reply = duo.ask(STORY, depth, max_tokens=limit)
            assert len(reply.tokens) == limit
            assert reply.finished.reason is FinishReason.LENGTH


class NeverEnding(Greedy):
    """Greedy, but the turn never ends."""

    def __init__(self, ends: Sequence[int]) -> None:
        self._ends = list(ends)

    def dist(self, row: Logits) -> Dist:
        row = row.copy()
        row[self._ends] = -np.inf
        return super().dist(row)

    def fork(self) -> NeverEnding:
        return self


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_reply_ends_where_the_context_does(depth: int) -> None:
    """The context is filled to its last token, which itself need not be evaluated, and never beyond."""
    duo = Duo(open_target(n_ctx=60), open_target(n_ctx=60, max_outputs=1))
    vocab = duo.target.vocab
    prompt = duo.prompt("Hello!")
    sampler = NeverEnding([token for token in range(vocab.n_vocab) if vocab.is_end(token)])
    reply = duo.ask(prompt, depth, sampler=sampler, max_tokens=None)
    assert reply.finished.reason is FinishReason.LENGTH
    assert len(prompt) + len(reply.tokens) == 61
    duo.close()


class TestCaches:
    def test_cold_and_warm_give_the_same_scores(self, duo: Duo) -> None:
        """What the cache held before a question does not change the answer, nor which token is best."""
        for question in hundred_prompts()[:10]:
            context = [*duo.prompt(question), *duo.ask(question, 3, max_tokens=20).ids]
            warm = duo.target.logits(context, 1)[0].copy()
            duo.target.logits([1], 0)
            cold = duo.target.logits(context, 1)[0]
            assert np.abs(warm - cold).max() < NOISE
            assert duo.difference(context, [int(cold.argmax())], [int(warm.argmax())]) is None

    @pytest.mark.parametrize("depth", [1, 3, 7])
    def test_both_keep_what_was_accepted(self, duo: Duo, depth: int) -> None:
        """After a reply the target lacks at most its last token, the draft the last two at most.

        A last token for which there was no room to draft is one the draft was never shown.
        """
        for question in hundred_prompts()[10:20]:
            prompt = duo.prompt(question)
            reply = duo.ask(prompt, depth)
            context = [*prompt, *reply.ids]
            undrafted_n = int(reply.rounds[-1].depth == 0)
            assert duo.target.held(context) >= len(context) - 1
            assert duo.draft.held(context) >= len(context) - 2 - undrafted_n


@pytest.fixture(scope="module")
def cancel() -> Cancellation:
    return Cancellation()


@pytest.fixture(scope="module")
def pair(cancel: Cancellation) -> Iterator[OpenPair]:
    pair = open_pair(LoadOptions(TARGET, DRAFT), cancel)
    yield pair
    pair.close()


def greedy(depth: int = 3, max_tokens: int | None = 80) -> ReplyOptions:
    return ReplyOptions(sampling=Sampling(temperature=0.0), depth=depth, max_tokens=max_tokens)


def ask(pair: OpenPair, messages: Sequence[Message], options: ReplyOptions) -> tuple[Started, Reply]:
    events = list(pair.reply(messages, options))
    assert isinstance(events[0], Started)
    return events[0], Reply(events)


def follow_up(reply: Reply, question: str = "Thank you. What is depth?") -> list[Message]:
    """The conversation after the first reply to STORY."""
    said = Message(Role.ASSISTANT, reply.finished.text)
    return [Message(Role.USER, STORY), said, Message(Role.USER, question)]


FIRST = [Message(Role.USER, STORY)]


class TestFollowUps:
    """The law: of a follow-up's prompt, all that was asked and said before is held by the target's cache.

    At most the reply's last token is missing, which no round has evaluated. White space that the
    template trims from the end of a reply is not part of the conversation any more.
    """

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_after_a_finished_reply(self, pair: OpenPair, depth: int) -> None:
        first, reply = ask(pair, FIRST, greedy(depth, None))
        assert reply.finished.reason is FinishReason.STOP
        second, _ = ask(pair, follow_up(reply), greedy(depth))
        assert second.cache_n - (first.prompt_n + len(reply.tokens)) in (-1, 0)

    @pytest.mark.parametrize("limit", [5, 6, 7, 8, 11, 20])
    def test_after_a_reply_cut_by_its_limit(self, pair: OpenPair, limit: int) -> None:
        first, reply = ask(pair, FIRST, greedy(3, limit))
        assert reply.finished.reason is FinishReason.LENGTH
        second, _ = ask(pair, follow_up(reply), greedy())
        kept_n = len(reply.tokens)
        while not reply.tokens[kept_n - 1].text.strip():
            kept_n -= 1
        assert second.cache_n - (first.prompt_n + kept_n) in (-1, 0)

    def test_after_a_reply_that_was_stopped(self, pair: OpenPair, cancel: Cancellation) -> None:
        """Between two rounds: what was said stays, and so does what was evaluated."""
        events = []
        for event in pair.reply(FIRST, greedy()):
            events.append(event)
            if isinstance(event, Round) and event.index == 3:
                cancel.set()
        cancel.clear()
        reply = Reply(events)
        assert reply.finished.reason is FinishReason.CANCELLED
        assert len(reply.rounds) == 4
        first = events[0]
        assert isinstance(first, Started)
        second, _ = ask(pair, follow_up(reply), greedy())
        assert second.cache_n - (first.prompt_n + len(reply.tokens)) in (-1, 0)

    def test_after_a_reply_split_as_nobody_else_would(self, duo: Duo) -> None:
        """Sampling may spell a word letter by letter; tokenizing would not, and the cache is used all the same."""
        vocab = duo.target.vocab
        text = "Once there was a fox"
        letters = [token for letter in text for token in vocab.tokenize(letter, special=False)]
        assert letters != vocab.tokenize(text, special=False)
        prompter = Prompter(vocab, duo.target.n_ctx)
        context = [*prompter.chat(FIRST).tokens, *letters, *vocab.tokenize("<|end|>", special=True)]
        duo.target.logits(context, 0)
        prompter.remember(context)
        again = prompter.chat([*FIRST, Message(Role.ASSISTANT, text), Message(Role.USER, "Go on.")]).tokens
        assert duo.target.held(again) == len(context)

    def test_a_question_edited_uses_the_cache_up_to_the_edit(self, pair: OpenPair) -> None:
        _, reply = ask(pair, FIRST, greedy(3, None))
        ask(pair, follow_up(reply, "What is depth?"), greedy())
        second, _ = ask(pair, follow_up(reply, "What is a bonus token?"), greedy())
        fresh, _ = ask(pair, follow_up(reply, "What is"), greedy())
        assert second.cache_n > second.prompt_n - 20
        assert fresh.cache_n > fresh.prompt_n - 20

    def test_a_follow_up_is_answered_as_if_all_had_been_read_anew(self, pair: OpenPair, duo: Duo) -> None:
        """With the caches of two other questions in between, and at another depth."""
        _, reply = ask(pair, FIRST, greedy(3, None))
        _, warm = ask(pair, follow_up(reply), greedy(3))
        ask(pair, [Message(Role.USER, "Hello!")], greedy(7))
        _, cold = ask(pair, follow_up(reply), greedy(0))
        text = "".join(f"<|{m.role}|>\n{m.content.strip()}<|end|>\n" for m in follow_up(reply)) + "<|assistant|>\n"
        duo.difference(duo.target.vocab.tokenize(text, special=True), cold.ids, warm.ids)


def long_talk() -> list[Message]:
    """More than two pieces of prompt."""
    questions = [Message((Role.USER, Role.ASSISTANT)[i % 2], "one two three four five six seven") for i in range(38)]
    return [*questions, Message(Role.USER, "Hello!")]


def test_stopping_while_the_prompt_is_read(pair: OpenPair, cancel: Cancellation) -> None:
    """Nothing was said; what was read stays read, and the same question is answered rightly afterwards."""
    ask(pair, [Message(Role.USER, "Hello!")], greedy())
    events = []
    for event in pair.reply(long_talk(), greedy()):
        events.append(event)
        if isinstance(event, PromptProgress):
            cancel.set()
    cancel.clear()
    assert [type(event) for event in events] == [Started, PromptProgress, Finished]
    stopped = Reply(events).finished
    assert (stopped.reason, stopped.text, stopped.timings.predicted_n) == (FinishReason.CANCELLED, "", 0)
    read = events[1]
    assert isinstance(read, PromptProgress)
    again, reply = ask(pair, long_talk(), greedy())
    assert again.cache_n >= read.done_n
    _, expected = ask(pair, long_talk(), greedy(0))
    assert reply.finished.text == expected.finished.text


def test_a_signal_set_before_a_reply_ends_it_at_once(pair: OpenPair, cancel: Cancellation) -> None:
    cancel.set()
    _, reply = ask(pair, FIRST, greedy())
    cancel.clear()
    assert (reply.finished.reason, reply.finished.text) == (FinishReason.CANCELLED, "")


class TestTour:
    """The tour's question shows what the tour says it does."""

    @pytest.mark.parametrize("seed", [None, 1, 2, 3], ids=["greedy", "seed 1", "seed 2", "seed 3"])
    def test_some_guesses_are_wrong(self, duo: Duo, seed: int | None) -> None:
        """At the tour's temperature and at 0."""
        recommended = load_catalogue().find(BUILTIN_ID).sampling
        tour = build_sampling({}, recommended)
        sampling = tour if seed is not None else replace(tour, temperature=0.0)
        sampler = duo.sampler(sampling, duo.prompt(QUESTION))
        reply = duo.ask(QUESTION, 3, sampler=sampler, rng=SeededRng(seed or 0), max_tokens=None)
        assert sum(bool(round_.rejected) for round_ in reply.rounds) >= 3
