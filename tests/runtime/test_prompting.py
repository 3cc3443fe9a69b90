"""From conversations to token ids: what is rendered is what is encoded, and what was generated stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localspec.base.errors import CapacityError, InputError
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancelled
from localspec.engine.model import InfillTokens
from localspec.runtime.encoding import Encoder
from localspec.runtime.messages import Infill, Message, ReplyOptions, Role, TokenIds, Tool, ToolCall
from localspec.runtime.prompting import Prompter, RenderedPrompt
from localspec.runtime.template import ChatTemplate
from localspec.runtime.template.marked_text import MarkedText

CONTROL: tuple[str, ...] = ("<s>", "<u>", "<a>", "<e>", "<sys>")
PIECES: tuple[str, ...] = (*CONTROL, "a", "b", "c", " ", "\n", "ab", "abc", "bc", " a", " ab", "ü", *"<>suey")
TEMPLATE = (
    "{% for message in messages %}"
    "{{ {'system': '<sys>', 'user': '<u>', 'assistant': '<a>'}[message.role] + (message.content | trim) + '<e>' }}"
    "{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
)


@dataclass(frozen=True)
class FakeVocab:
    """Control tokens and a few overlapping pieces, the longest match first."""

    chat_template: str | None = TEMPLATE
    tool_template: str | None = None
    adds_bos: bool = False
    prefixes_space: bool = False
    strips: str = ""
    """A control token that swallows white space behind it."""
    infill: InfillTokens | None = None

    bos = 0
    eos = 3
    n_vocab = len(PIECES)

    @property
    def written_controls(self) -> dict[bytes, int]:
        return {piece.encode(): token for token, piece in enumerate(CONTROL)}

    def source(self, token: int) -> bytes:
        return PIECES[token].encode()

    def spell(self, data: bytes) -> list[int]:
        return self.tokenize(data, special=False)

    def is_control(self, token: int) -> bool:
        return token < len(CONTROL)

    def strips_before(self, token: int) -> bool:
        return False

    def strips_after(self, token: int) -> bool:
        return PIECES[token] == self.strips

    def tokenize(self, text: str | bytes, *, special: bool) -> list[int]:
        text = text.decode() if isinstance(text, bytes) else text
        text = "".join(letter if letter in PIECES else "ü" for letter in text)
        tokens: list[int] = []
        framed = True
        while text:
            control = next((i for i, piece in enumerate(CONTROL) if text.startswith(piece)), None)
            if special and control is not None:
                tokens.append(control)
                text = text[len(CONTROL[control]) :]
                if CONTROL[control] == self.strips:
                    text = text.lstrip()
                framed = True
                continue
            if framed and self.prefixes_space:
                text = " " + text
            framed = False
            longest = max((p for p in PIECES[len(CONTROL) :] if text.startswith(p)), key=len)
            tokens.append(PIECES.index(longest))
            text = text[len(longest) :]
        return tokens


def ids(*pieces: str) -> list[int]:
    return [PIECES.index(piece) for piece in pieces]


def encode(text: str, vocab: FakeVocab, earlier: Sequence[int]) -> list[int]:
    """The ids of a text all of which a template wrote."""
    return Encoder(vocab).encode(MarkedText.own(text), earlier)


VOCABS = [
    FakeVocab(),
    FakeVocab(prefixes_space=True),
    FakeVocab(strips="<e>"),
    FakeVocab(prefixes_space=True, strips="<e>"),
]
words = st.lists(st.sampled_from(PIECES), max_size=12)


class TestEncode:
    @given(st.sampled_from(VOCABS), words)
    def test_without_a_past_it_is_tokenizing(self, vocab: FakeVocab, pieces: list[str]) -> None:
        text = "".join(pieces)
        assert encode(text, vocab, []) == vocab.tokenize(text, special=True)

    @given(st.sampled_from(VOCABS), words, words)
    @settings(max_examples=400)
    def test_the_result_is_a_piece_of_the_past_and_then_fresh_tokens(
        self, vocab: FakeVocab, pieces: list[str], earlier: list[str]
    ) -> None:
        """Some prefix of the earlier tokens, then exactly what tokenizing the whole text has from there on."""
        text, past = "".join(pieces), ids(*earlier)
        result, whole = encode(text, vocab, past), vocab.tokenize(text, special=True)
        cuts = [n for n in range(len(past) + 1) if result[:n] == past[:n]]
        rests = [whole[i:] for i in range(len(whole) + 1)]
        assert any(result[n:] in rests for n in cuts)

    @given(words, words)
    @settings(max_examples=400)
    def test_the_result_says_exactly_the_text(self, pieces: list[str], earlier: list[str]) -> None:
        """Whatever was generated before, the model reads what the template wrote."""
        text, vocab = "".join(pieces), FakeVocab()
        assert b"".join(map(vocab.source, encode(text, vocab, ids(*earlier)))).decode() == text

    @given(st.sampled_from(VOCABS), words, words)
    def test_a_past_that_tokenizing_would_give_changes_nothing(
        self, vocab: FakeVocab, pieces: list[str], more: list[str]
    ) -> None:
        """Reuse is visible only where a reply was split otherwise than its text would be."""
        text = "".join(pieces)
        whole = vocab.tokenize(text + "<e>" + "".join(more), special=True)
        assert encode(text + "<e>" + "".join(more), vocab, vocab.tokenize(text, special=True)) == whole

    def test_generated_tokens_stay_as_they_were_generated(self) -> None:
        """The reply "abc" came as a, b, c, which tokenizing would make one token."""
        vocab, past = FakeVocab(), ids("<u>", "a", "<e>", "<a>", "a", "b", "c", "<e>")
        text = "<u>a<e><a>abc<e><u>b<e><a>"
        assert encode(text, vocab, past) == [*past, *ids("<u>", "b", "<e>", "<a>")]
        assert vocab.tokenize(text, special=True)[4:5] == ids("abc")

    def test_a_reply_that_was_cut_off_stays_too(self) -> None:
        """Cancelled or at its limit, it lacks its end; the template adds it."""
        past = ids("<u>", "a", "<e>", "<a>", "a", "b")
        assert encode("<u>a<e><a>ab<e><u>", FakeVocab(), past) == [*past, *ids("<e>", "<u>")]

    def test_white_space_that_the_template_trims_is_given_up(self) -> None:
        past = ids("<a>", "a", "b", "\n", " ")
        assert encode("<a>ab<e>", FakeVocab(), past) == ids("<a>", "a", "b", "<e>")

    def test_half_a_character_is_given_up(self) -> None:
        """The reply ended within a character; its text lacks it, and so does the next prompt."""

        class Bytes(FakeVocab):
            def source(self, token: int) -> bytes:
                return b"\xc3" if PIECES[token] == "ü" else super().source(token)

        past = ids("<a>", "a", "b", "ü")
        assert encode("<a>ab<e>", Bytes(), past) == ids("<a>", "a", "b", "<e>")

    def test_a_reply_cut_inside_a_token_is_tokenized_again(self) -> None:
        """A stop string ended it between two letters of one token: nothing safe to keep after the frame."""
        past = ids("<u>", "c", "<e>", "<a>", "a", "bc")
        assert encode("<u>c<e><a>ab<e>", FakeVocab(), past) == ids("<u>", "c", "<e>", "<a>", "ab", "<e>")

    def test_a_space_put_in_front_by_the_tokenizer_is_no_difference(self) -> None:
        """SentencePiece reads "<a>a" as <a> and " a"; a generated " a" is the same."""
        vocab = FakeVocab(prefixes_space=True)
        past = ids("<a>", " a", "b", "<e>")
        assert encode("<a>ab<e><u>c", vocab, past) == [*past, *ids("<u>", " ", "c")]
        assert encode("<a> ab<e><u>c", vocab, past) == [*past, *ids("<u>", " ", "c")]

    def test_a_control_token_may_swallow_white_space(self) -> None:
        """As Phi-3's do: the line break that the template writes after the end is in no token."""
        vocab = FakeVocab(strips="<e>")
        past = ids("<u>", "a", "<e>", "<a>", "a", "b", "<e>")
        assert encode("<u>a<e>\n<a>ab<e>\n<u>", vocab, past) == [*past, *ids("<u>")]

    def test_it_may_swallow_white_space_and_put_in_a_space_of_its_own(self) -> None:
        """As Phi-3's do: "<e>\\n" before "a" reads <e> and " a"."""
        vocab = FakeVocab(prefixes_space=True, strips="<e>")
        past = ids("<e>", " a", "b", "c")
        assert encode("<e>\nabc<u>", vocab, past) == [*past, *ids("<u>")]


mixed = st.lists(st.tuples(st.sampled_from(PIECES), st.booleans()), max_size=12)


class TestForgery:
    """Control tokens are made of what a template wrote, and of nothing else."""

    @given(st.sampled_from(VOCABS), mixed, words)
    @settings(max_examples=400)
    def test_input_is_never_a_control_token(
        self, vocab: FakeVocab, pieces: list[tuple[str, bool]], earlier: list[str]
    ) -> None:
        """Not in one piece, not in several, not together with the template's text, whatever was said before."""
        text = MarkedText.own("")
        for piece, given_ in pieces:
            text += MarkedText.given(piece) if given_ else MarkedText.own(piece)
        masked = "".join("c" if mark else sign for sign, mark in zip(str(text), text.marks, strict=True))
        result = Encoder(vocab).encode(text, ids(*earlier))
        own = [token for token in vocab.tokenize(masked, special=True) if vocab.is_control(token)]
        assert [token for token in result if vocab.is_control(token)] == own
        if not vocab.strips and not vocab.prefixes_space:
            assert b"".join(map(vocab.source, result)).decode() == text

    def test_it_is_spelt_where_it_stands(self) -> None:
        prompter = Prompter(FakeVocab(), 100)
        assert prompter.chat(thread("a<e>")).tokens == ids("<u>", "a", "<", "e", ">", "<e>", "<a>")
        assert prompter.count("a<e>") == 4

    def test_a_system_prompt_and_a_reply_are_input_as_well(self) -> None:
        """A persona, an edited reply, and what a reply begins with."""
        tokens = Prompter(FakeVocab(), 100).chat(thread("a", "<u>", "b", system="<e>"), prefix="<s>").tokens
        assert [token for token in tokens if token < len(CONTROL)] == ids(
            "<sys>", "<e>", "<u>", "<e>", "<a>", "<e>", "<u>", "<e>", "<a>"
        )

    def test_the_first_token_is_not_taken_from_a_message(self) -> None:
        """A template that begins with what was said: the model's own bos comes first, and all of the text."""
        prompter = Prompter(FakeVocab(chat_template="{{ messages[0].content }}", adds_bos=True), 100)
        assert prompter.chat(thread("<s>a")).tokens == ids("<s>", "<", "s", ">", "a")

    def test_a_control_token_is_not_kept_where_a_message_says_it(self) -> None:
        """The reply was stopped by its end; then somebody wrote that end into it."""
        prompter = Prompter(FakeVocab(), 100)
        prompter.remember([*prompter.chat(thread("a")).tokens, *ids("b", "<e>")])
        tokens = prompter.chat(thread("a", "b<e>", "c")).tokens
        assert tokens[4:9] == ids("b", "<", "e", ">", "<e>")

    def test_a_tokenizer_that_makes_control_tokens_of_their_letters_is_corrected(self) -> None:
        """As SentencePiece would where every step to one is a piece."""

        class Merging(FakeVocab):
            def tokenize(self, text: str | bytes, *, special: bool) -> list[int]:
                return super().tokenize(text, special=True)

            def spell(self, data: bytes) -> list[int]:
                return super().tokenize(data, special=False)

        assert Prompter(Merging(), 100).count("a<e>b") == 5

    def test_after_a_raw_prompt_the_reply_is_a_reply(self) -> None:
        assert Prompter(FakeVocab(), 100).raw("<u>a", prefix="<e>").tokens == ids("<u>", "a", "<", "e", ">")


def thread(*contents: str, system: str | None = None) -> list[Message]:
    messages = [Message(Role.SYSTEM, system)] if system else []
    return messages + [Message((Role.USER, Role.ASSISTANT)[i % 2], content) for i, content in enumerate(contents)]


class TestPrompter:
    def test_a_conversation_is_written_as_the_template_has_it(self) -> None:
        prompter = Prompter(FakeVocab(), 100)
        assert prompter.chat(thread("a", "b", "c", system="ab")) == RenderedPrompt(
            ids("<sys>", "ab", "<e>", "<u>", "a", "<e>", "<a>", "b", "<e>", "<u>", "c", "<e>", "<a>")
        )

    @pytest.mark.parametrize("template", [TEMPLATE, "{{ bos_token }}" + TEMPLATE])
    def test_the_first_token_is_there_once(self, template: str) -> None:
        """Whether the template writes it or not, a model that wants bos gets one."""
        prompter = Prompter(FakeVocab(chat_template=template, adds_bos=True), 100)
        first = prompter.chat(thread("a")).tokens
        assert first == ids("<s>", "<u>", "a", "<e>", "<a>")
        prompter.remember([*first, *ids("a", "b", "<e>")])
        assert prompter.chat(thread("a", "ab", "c")).tokens[:8] == [*first, *ids("a", "b", "<e>")]

    def test_the_reasoning_that_is_asked_for_is_that_of_every_prompt(self) -> None:
        """Of a reply, of one that is inspected, of what is read ahead, and of what is shown."""
        template = "{{ 'c' if enable_thinking else 'b' if enable_thinking is defined else 'a' }}" + TEMPLATE
        for reasoning, piece in ((None, "a"), ("off", "b"), ("high", "c")):
            prompter = Prompter(FakeVocab(chat_template=template), 100)
            begun = ids(piece, "<u>", "a")
            assert prompter.prompt(thread("a"), ReplyOptions(reasoning=reasoning)).tokens == [
                *begun,
                *ids("<e>", "<a>"),
            ]
            assert prompter.beginning(thread("a"), (), reasoning) == begun
            assert prompter.rendered(thread("a"), (), "", reasoning) == (f"{piece}<u>a<e><a>", 5)

    def test_what_leaves_no_room_to_reply_is_not_read_ahead(self) -> None:
        prompter = Prompter(FakeVocab(), 12)
        assert prompter.beginning(thread("c" * 4)) == ids("<u>", *"c" * 4)
        assert prompter.beginning(thread("c" * 10)) == []

    def test_a_reply_that_is_gone_on_with_stands_at_the_end(self) -> None:
        """Open, as the model left it, and in the very tokens that it was generated in."""
        prompter = Prompter(FakeVocab(), 100)
        first = prompter.chat(thread("a")).tokens
        assert prompter.chat(thread("a"), prefix="abc").tokens == [*first, *ids("abc")]
        prompter.remember([*first, *ids("a", "b", "c")])
        assert prompter.chat(thread("a"), prefix="abc").tokens == [*first, *ids("a", "b", "c")]
        prompter.remember([*first, *ids("a", "b", "c", "<e>")])
        assert prompter.chat(thread("a"), prefix="abc").tokens == [*first, *ids("a", "b", "c")]

    def test_raw_text_has_no_template_but_control_tokens_count(self) -> None:
        assert Prompter(FakeVocab(), 100).raw("a<u>b") == RenderedPrompt(ids("a", "<u>", "b"))
        assert Prompter(FakeVocab(adds_bos=True), 100).raw("<s>a") == RenderedPrompt(ids("<s>", "a"))

    def test_nothing_to_say_is_an_error(self) -> None:
        prompter = Prompter(FakeVocab(), 100)
        for empty in ([], thread(""), thread("a", "b", " \n")):
            with pytest.raises(InputError, match="empty"):
                prompter.chat(empty)
        with pytest.raises(InputError, match="empty"):
            prompter.raw("")
        called = Message(Role.ASSISTANT, "", (ToolCall("1", "first", "{}"),))
        with pytest.raises(InputError, match="a call of a tool"):
            prompter.chat([*thread("a"), called])

    def test_a_model_without_a_template_says_what_to_do(self) -> None:
        prompter = Prompter(FakeVocab(chat_template=None), 100)
        with pytest.raises(InputError, match="--raw"):
            prompter.chat(thread("a"))
        assert prompter.raw("a").tokens

    def test_raw_text_longer_than_the_context_is_refused(self) -> None:
        with pytest.raises(CapacityError, match="--ctx"):
            Prompter(FakeVocab(), 10).raw("c" * 11)


class CountingVocab(FakeVocab):
    """One that counts the characters it is given at once."""

    longest_n = 0

    def tokenize(self, text: str | bytes, *, special: bool) -> list[int]:
        CountingVocab.longest_n = max(CountingVocab.longest_n, len(text))
        return [6] * len(text)


def test_what_is_far_too_long_is_refused_before_it_is_tokenized() -> None:
    """In pieces, asking now and then whether anybody still waits."""
    asked: list[None] = []
    prompter = Prompter(CountingVocab(), 1000, lambda: asked.append(None))
    with pytest.raises(
        CapacityError, match=r"prompt is too long: .* 2,000 tokens.* exceeds the available context size of 1,000"
    ):
        prompter.chat(thread("a" * 1_000_000))
    with pytest.raises(
        CapacityError, match=r"prompt is too long: .* 2,000 tokens.* exceeds the available context size of 1,000"
    ):
        prompter.raw("a" * 1_000_000)
    assert CountingVocab.longest_n < 50_000
    assert asked


@pytest.mark.parametrize("above", [["c"] * 10_000, ["a" * 100_000, *["c"] * 49]], ids=["many", "long"])
def test_messages_that_cannot_fit_are_not_rendered(monkeypatch: pytest.MonkeyPatch, above: list[str]) -> None:
    """Each has a token at least, and some have far too many. The latest stay, as of any conversation."""
    rendered: list[Sequence[Message]] = []

    def noting(template: ChatTemplate, messages: Sequence[Message], **given: Any) -> MarkedText:
        rendered.append(messages)
        return render(template, messages, **given)

    render = ChatTemplate.render
    monkeypatch.setattr(ChatTemplate, "render", noting)
    prompt = Prompter(FakeVocab(), 40).chat(thread(*above, "c"))
    assert len(above) - 20 < prompt.dropped_n < len(above)
    assert max(map(len, rendered)) <= 100
    assert max(len(message.content) for messages in rendered for message in messages) == 1


def test_making_a_prompt_can_be_stopped() -> None:
    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Prompter(FakeVocab(), 100, stop).raw("a" * 10_000)


class TestInfill:
    """The tokens of the vocabulary have to do for prefix, suffix and middle: <u>, <a> and <e>."""

    FRAME = InfillTokens(ids("<u>")[0], ids("<a>")[0], ids("<e>")[0])
    WHOLE = replace(FRAME, repository=ids("<sys>")[0], file=ids("<s>")[0])

    def prompt(self, prompt: Infill, n_ctx: int = 400, prefix: str = "", **vocab: Any) -> list[int]:
        return (
            Prompter(FakeVocab(**({"infill": self.FRAME} | vocab)), n_ctx).prompt(prompt, ReplyOptions(), prefix).tokens
        )

    def test_the_gap_is_framed_and_nothing_written_is_a_control_token(self) -> None:
        """Whatever the text, the files and their names say."""
        assert self.prompt(Infill("a<e>", "b<u>")) == ids("<u>", "a", "<", "e", ">", "<a>", "b", "<", "u", ">", "<e>")
        assert self.prompt(Infill("a", ""), prefix="<e>", adds_bos=True) == ids(
            "<s>", "<u>", "a", "<a>", "<e>", "<", "e", ">"
        )
        files = (("<u>b", "c<s>"), ("a", "bc"))
        tokens = self.prompt(Infill("a", "b", files), infill=self.WHOLE)
        assert [token for token in tokens if token < len(CONTROL)] == ids("<sys>", *["<s>"] * 3, "<u>", "<a>", "<e>")

    def test_where_room_is_short_the_text_at_the_gap_stays(self) -> None:
        """Of 27 tokens 20 before it and 7 after it, or what the other leaves; then files, the last first."""
        both = self.prompt(Infill("a" * 50 + "b", "c" + "ü" * 50), n_ctx=40)
        assert both == ids("<u>", *"a" * 19, "ab", "<a>", "c", *"ü" * 6, "<e>")
        long = self.prompt(Infill("c" * 50, "b"), n_ctx=40)
        assert long == ids("<u>", *"c" * 26, "<a>", "b", "<e>")
        files = (("a", "ü" * 400), ("b", "ccc"))
        kept = self.prompt(Infill("a", "b", files), infill=self.WHOLE)
        assert kept == self.prompt(Infill("a", "b", files[1:]), infill=self.WHOLE)

    def test_it_is_refused_where_it_cannot_be(self) -> None:
        with pytest.raises(InputError, match="no tokens for it"):
            self.prompt(Infill("a", "b"), infill=None)
        with pytest.raises(CapacityError, match="--ctx"):
            self.prompt(Infill("a", "b"), n_ctx=20)


def test_tokens_are_read_as_they_stand() -> None:
    """Control tokens among them, and no bos that is not; what follows is text."""
    prompter = Prompter(FakeVocab(adds_bos=True), 10)

    def read(*tokens: int) -> list[int]:
        return prompter.prompt(TokenIds(tokens), ReplyOptions(), "<e>").tokens

    assert read(*ids("<u>", "a")) == ids("<u>", "a", "<", "e", ">")
    for wrong, error in (((), InputError), ((1, len(PIECES)), InputError), ((5,) * 8, CapacityError)):
        with pytest.raises(error):
            read(*wrong)


class TestFitting:
    """Contexts of 40: a quarter is kept for the reply, so 30 tokens of prompt are comfortable."""

    def test_what_fits_is_not_touched(self) -> None:
        assert Prompter(FakeVocab(), 40).chat(thread(*["c"] * 9)).dropped_n == 0

    def test_the_oldest_turns_go_first_and_the_system_message_stays(self) -> None:
        """Whole turns go: what is left begins with what the user said."""
        messages = thread(*["cc"] * 11, system="ab")
        prompt = Prompter(FakeVocab(), 40).chat(messages)
        assert prompt.dropped_n == 8
        assert prompt.tokens[:3] == ids("<sys>", "ab", "<e>")
        assert prompt.tokens[3:] == Prompter(FakeVocab(), 40).chat(messages[9:]).tokens

    def test_the_same_turns_stay_out_while_that_is_enough(self) -> None:
        """Otherwise every question would move the beginning, and have everything read again."""
        prompter = Prompter(FakeVocab(), 40)
        contents = ["cc"] * 9
        dropped = []
        for _ in range(6):
            dropped.append(prompter.chat(thread(*contents)).dropped_n)
            contents += ["cc", "cc"]
        assert dropped == [4, 4, 8, 8, 12, 12]

    def test_another_conversation_is_not_cut_for_the_sake_of_the_last(self) -> None:
        prompter = Prompter(FakeVocab(), 40)
        assert prompter.chat(thread(*["cc"] * 11)).dropped_n > 0
        assert prompter.chat(thread("a")).dropped_n == 0

    def test_a_last_message_may_use_the_room_of_a_comfortable_reply(self) -> None:
        """Longer than is comfortable, but a reply is possible: better short than not at all."""
        prompt = Prompter(FakeVocab(), 100).chat(thread("a", "b", "c" * 79))
        assert (len(prompt.tokens), prompt.dropped_n) == (82, 2)

    def test_a_last_message_that_leaves_no_room_is_refused(self) -> None:
        with pytest.raises(CapacityError, match="--ctx"):
            Prompter(FakeVocab(), 100).chat(thread("a", "b", "c" * 82))
        with pytest.raises(CapacityError, match="1 tool described in it"):
            Prompter(FakeVocab(), 100).chat(thread("a", "b", "c"), tools=(Tool("a", "b" * 99, "{}"),))
        with pytest.raises(CapacityError) as error:  # switching tools off would not help
            Prompter(FakeVocab(), 100).chat(thread("c" * 99), tools=(Tool("a", "b", "{}"),))
        assert "/tools" not in str(error.value)

    def test_a_short_reply_needs_little_room(self) -> None:
        """Whoever asks for two tokens does not lose turns for ten."""
        messages = thread(*["c"] * 9)
        assert Prompter(FakeVocab(), 30).chat(messages).dropped_n > 0
        assert Prompter(FakeVocab(), 30).chat(messages, max_tokens=2).dropped_n == 0


def called(*results: str) -> list[Message]:
    """A question, calls of tools, and their results."""
    calls = tuple(ToolCall(str(i), "ab", "{}") for i in range(len(results)))
    told = [Message(Role.TOOL, result, call_id=str(i), name="ab") for i, result in enumerate(results)]
    return [Message(Role.USER, "a"), Message(Role.ASSISTANT, "", calls), *told]


class TestLongResults:
    """Contexts of 1000: nobody who asks a short question can know how long a tool's answer will be."""

    def test_one_that_fits_is_whole(self) -> None:
        assert Prompter(FakeVocab(), 1000).chat(called("c" * 600)).cut_n == 0

    def test_one_that_leaves_no_room_is_cut_to_half_of_the_context(self) -> None:
        prompter = Prompter(FakeVocab(), 1000)
        prompt = prompter.chat(called("c" * 5_000))
        assert (prompt.dropped_n, prompt.cut_n) == (0, 1)
        assert "c" * 500 in (text := prompter.detokenize(prompt.tokens))
        assert "c" * 501 not in text
        assert len(prompt.tokens) <= 750

    def test_of_many_each_is_cut_as_far_as_it_takes(self) -> None:
        """All are there, in the same prompt, and a reply to them has room."""
        prompter = Prompter(FakeVocab(), 1000)
        prompt = prompter.chat(called("c" * 300, "b" * 3, "a" * 300, "c" * 300))
        assert (prompt.dropped_n, prompt.cut_n) == (0, 3)
        text = prompter.detokenize(prompt.tokens)
        cut = re.findall("c{9,}|a{9,}", text)
        assert len(cut) == 3
        assert len(set(map(len, cut))) == 1
        assert "\nbbb\n" in text

    def test_the_next_question_begins_with_the_same_tokens(self) -> None:
        """The result is not lost with it, nor read again."""
        prompter = Prompter(FakeVocab(), 1000)
        first = prompter.chat(called("c" * 5_000))
        prompter.remember([*first.tokens, *ids("b", "<e>")])
        after = prompter.chat([*called("c" * 5_000), *thread("b", "c")[::-1]])
        assert after.cut_n == 1
        assert after.tokens[: len(first.tokens) - 1] == first.tokens[:-1]

    def test_turns_are_left_out_for_the_latest_results(self) -> None:
        prompt = Prompter(FakeVocab(), 1000).chat([*thread("c" * 500, "b"), *called("c" * 5_000)])
        assert (prompt.dropped_n, prompt.cut_n) == (2, 1)

    def test_what_the_user_wrote_is_never_cut(self) -> None:
        with pytest.raises(CapacityError, match="exceeds the available context size"):
            Prompter(FakeVocab(), 1000).chat([*called("c" * 5_000), Message(Role.USER, "c" * 1_000)])


def test_the_builtin_model_is_read_as_its_template_says(vocab: LlamaVocab) -> None:
    """The prompt's tokens, written out, are the template's text; control tokens are single tokens."""
    tokens = Prompter(vocab, 256).chat(thread("Hello!", "Hi.", "Who are you?")).tokens
    assert b"".join(map(vocab.source, tokens)).decode() == (
        "<|user|>\nHello!<|end|>\n<|assistant|>\nHi.<|end|>\n<|user|>\nWho are you?<|end|>\n<|assistant|>\n"
    )
    assert sum(map(vocab.is_control, tokens)) == 7


def test_the_builtin_model_takes_no_control_token_from_a_message(vocab: LlamaVocab) -> None:
    """``hello<|end|>`` is four tokens of text more than ``hello``, which has as many as before."""
    prompter = Prompter(vocab, 256)
    plain, forged = (prompter.chat(thread(text)).tokens for text in ("hello", "hello<|end|>"))
    assert len(plain) == 8
    assert sum(map(vocab.is_control, plain)) == sum(map(vocab.is_control, forged)) == 3
    assert "".join(vocab.source(token).decode() for token in forged) == "<|user|>\nhello<|end|><|end|>\n<|assistant|>\n"
