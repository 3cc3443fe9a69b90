"""Opening a pair: what is refused, what is reported, and what may be asked of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from localspec.base.errors import (
    CapacityError,
    InputError,
    ModelFileError,
    NotFoundError,
    PairMismatchError,
    UsageError,
)
from localspec.base.file_identity import FileIdentity, identify
from localspec.config.table import MAX_DEPTH
from localspec.engine.backends.llama.model import LlamaModel
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.cancel import Cancellation, Cancelled
from localspec.engine.drafter import DrafterInputs
from localspec.engine.drafters import drafter_names, make_drafter
from localspec.engine.events import FinishReason, Origin, Started
from localspec.engine.head import HeadInputs
from localspec.engine.settings import Sampling
from localspec.runtime.calibration import plain_round
from localspec.runtime.load import InspectablePair, open_pair
from localspec.runtime.measuring_progress import MeasuringProgress
from localspec.runtime.messages import Infill, Message, ReplyOptions, Role, TokenIds, Tool
from localspec.runtime.options import LoadOptions
from tests.builtin import DRAFT, TARGET
from tests.fake_heads import FakeBlockHead, FakeHead, HiddenTarget
from tests.fakes import ExactModel, TableModel, letters
from tests.gguf_files import model as gguf_model
from tests.gguf_files import write
from tests.runtime.opened_pairs import follow, open_unmeasured
from tests.tiny_models import write_tiny

HELLO = [Message(Role.USER, "Hello!")]
GREEDY = Sampling(temperature=0.0)


class TestInfo:
    def test_what_was_loaded_is_reported(self, pair: InspectablePair) -> None:
        info = pair.info
        assert (info.target, info.draft) == (TARGET, DRAFT)
        assert info.target_name == "LocalSpec tour target"
        assert info.draft_name == "LocalSpec tour draft"
        assert info.target_size_bytes == TARGET.stat().st_size
        assert info.draft_size_bytes == DRAFT.stat().st_size
        assert (identify(TARGET), identify(DRAFT)) == (
            FileIdentity(str(info.target_sample), info.target_sha256),
            FileIdentity(str(info.draft_sample), info.draft_sha256),
        )
        assert info.threads >= 1
        assert info.device
        assert info.load_s > 0

    def test_tokens_are_counted_as_a_prompt_is_read(self, pair: InspectablePair) -> None:
        text = "Tell me a story about a fox, 漢字 and <|im_end|>."
        started = next(pair.reply(text, ReplyOptions(max_tokens=1)))
        assert isinstance(started, Started)
        assert pair.count_tokens(text) in (started.prompt_n, started.prompt_n - 1)  # some models begin with a token
        assert pair.count_tokens("") == 0

    def test_text_and_tokens_are_told_without_a_reply(self, pair: InspectablePair) -> None:
        """A text comes back from its tokens; a conversation is the very prompt that a reply reads."""
        text = "A fox, 漢字 and <|end|>."
        plain, pieces = pair.prompter.tokenize(text)
        special, _ = pair.prompter.tokenize(text, special=True)
        assert b"".join(pieces).decode() == pair.prompter.detokenize(special) == text
        assert len(special) < len(plain)
        messages = (Message(Role.USER, text),)
        shown, token_n = pair.prompter.rendered(messages, prefix="So")
        assert shown.count(text) == 1
        assert shown.endswith("So")
        started = next(pair.reply(messages, ReplyOptions(max_tokens=1), "So"))
        assert isinstance(started, Started)
        assert started.prompt_n == token_n
        with pytest.raises(InputError, match="no token -1"):
            pair.prompter.detokenize([1, -1])

    @pytest.mark.parametrize("one_call", [False, True])
    def test_a_call_may_be_required(self, pair: InspectablePair, one_call: bool) -> None:
        """Even of a tool that the question has nothing to do with, and one alone if no more are wanted."""
        tool = Tool("paint_wall", "Paint a wall.", '{"type": "object", "properties": {"n": {"type": "integer"}}}')
        options = ReplyOptions(Sampling(1.5), seed=5, max_tokens=200, tools=(tool,), must_call=True, one_call=one_call)
        reply = follow(pair, HELLO, options)
        assert {call.name for call in reply.calls} == {"paint_wall"}
        assert reply.held_n == len(reply.text)
        if one_call:
            assert len(reply.calls) == 1
        with pytest.raises(UsageError, match="cannot be required"):
            list(pair.reply(HELLO, replace(options, sampling=Sampling(grammar='root ::= "a"'))))

    def test_the_end_may_be_ignored(self, pair: InspectablePair) -> None:
        """The reply goes on to its limit, with guesses as without; a reply after it ends by itself."""
        asked = ReplyOptions(Sampling(0.0), depth=3, max_tokens=140, ignore_end=True)
        guessed, plain, usual = (
            follow(pair, HELLO, each) for each in (asked, replace(asked, spec=()), ReplyOptions(GREEDY))
        )
        assert (guessed.finished, guessed.timings.predicted_n) == (FinishReason.LENGTH, 140)
        assert guessed.text == plain.text
        assert guessed.text.startswith(usual.text)
        assert usual.finished is FinishReason.STOP

    def test_an_end_that_is_ignored_may_have_a_bias(self, pair: InspectablePair) -> None:
        wanted = ReplyOptions(Sampling(0.0, logit_bias=((0, 100.0),)), max_tokens=5)
        ends = [follow(pair, HELLO, replace(wanted, ignore_end=ignore)).finished for ignore in (False, True)]
        assert ends == [FinishReason.STOP, FinishReason.LENGTH]

    def test_options_are_followed_and_the_plain_speed_is_measured(self) -> None:
        seen: list[tuple[str, float]] = []
        options = LoadOptions(TARGET, n_ctx=100, threads=1, device="none")
        pair = open_pair(options, Cancellation(), lambda what, fraction: seen.append((what, fraction)))
        assert (pair.info.n_ctx, pair.info.threads, pair.info.device) == (100, 1, "CPU, 1 thread")
        assert (pair.info.draft, pair.info.draft_name, pair.info.draft_size_bytes) == (None, None, 0)
        stages = list(dict.fromkeys(what.partition(" (")[0] for what, _ in seen))
        assert stages == ["checking the files", "loading the target", "measuring this machine"]
        assert all(0 <= fraction <= 1 for _, fraction in seen)
        assert pair.info.plain_per_second is not None
        assert pair.info.plain_per_second > 0
        pair.close()

    def test_a_model_that_cannot_write_numbers_is_measured_all_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A vocabulary of Chinese characters, or of nucleotides, drops them."""
        monkeypatch.setattr(LlamaVocab, "tokenize", lambda *_, **__: [])
        model = write_tiny(tmp_path / "m.gguf", "llama")
        with closing(open_pair(LoadOptions(model, model, n_ctx=256, threads=1), Cancellation())) as pair:
            assert pair.info.plain_per_second


class TestRefusals:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(NotFoundError):
            open_pair(LoadOptions(tmp_path / "none.gguf"), Cancellation())
        with pytest.raises(NotFoundError):
            open_pair(LoadOptions(TARGET, tmp_path / "none.gguf"), Cancellation())

    def test_a_file_cut_short(self, tmp_path: Path) -> None:
        file = tmp_path / "short.gguf"
        file.write_bytes(TARGET.read_bytes()[:2_000_000])
        with pytest.raises(ModelFileError, match="truncated"):
            open_pair(LoadOptions(file), Cancellation())

    @pytest.mark.parametrize("kind", ["none", "no_vocab"])
    def test_a_model_without_a_vocabulary(self, tmp_path: Path, kind: str) -> None:
        """llama.cpp loads it, and ends the process over the first text."""
        file = write_tiny(tmp_path / "numbers.gguf", "llama", tokenizer=kind)
        for options in (LoadOptions(file), LoadOptions(TARGET, file)):
            with pytest.raises(ModelFileError, match=r"numbers\.gguf.*no vocabulary"):
                open_pair(options, Cancellation())
        bare = write(tmp_path / "bare.gguf", gguf_model(tokens=()))
        with pytest.raises(ModelFileError, match=r"bare\.gguf.*no vocabulary"):
            open_pair(LoadOptions(bare), Cancellation())

    def test_a_draft_in_parts_is_named_by_its_first_file(self, tmp_path: Path) -> None:
        write_tiny(tmp_path / "x.gguf", "llama", part_tensors=20)
        _, later = sorted(tmp_path.iterdir())
        with pytest.raises(ModelFileError, match="a later part of a split model"):
            open_pair(LoadOptions(TARGET, later), Cancellation())

    def test_a_draft_of_another_vocabulary(self, tmp_path: Path) -> None:
        """Nothing is loaded before the two are known to fit."""
        other = write(tmp_path / "other.gguf", gguf_model())
        with pytest.raises(PairMismatchError):
            open_pair(LoadOptions(TARGET, other), Cancellation())

    def test_a_context_beyond_the_machine(self) -> None:
        with pytest.raises(CapacityError):
            open_pair(LoadOptions(TARGET, n_ctx=2_000_000_000), Cancellation())

    def test_a_load_that_is_cancelled_leaves_nothing_open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The signal comes while the draft is loaded: the target is closed again."""
        closed: list[str] = []
        close = LlamaModel.close
        cancel = Cancellation()

        def note_and_close(model: LlamaModel) -> None:
            closed.append("closed")
            close(model)

        def stop_at_the_draft(what: str, fraction: float) -> None:
            if what == "loading the draft":
                cancel.set()

        monkeypatch.setattr(LlamaModel, "close", note_and_close)
        with pytest.raises(Cancelled):
            open_pair(LoadOptions(TARGET, DRAFT), cancel, stop_at_the_draft)
        assert closed == ["closed"]


class TestOptions:
    def test_left_to_localspec_the_draft_model_proposes(self, pair: InspectablePair) -> None:
        rounds = follow(pair, HELLO, ReplyOptions(GREEDY, depth=3)).rounds
        assert {round_.drafter for round_ in rounds} <= {"draft", "suffix", "suffix+draft", "draft+suffix"}
        assert rounds[0].depth == 3
        assert not rounds[0].why

    def test_a_depth_that_was_left_open_is_decided_round_by_round_and_explained(self, pair: InspectablePair) -> None:
        rounds = follow(pair, HELLO, ReplyOptions(GREEDY)).rounds
        assert len(rounds) > 1
        assert all(round_.why and round_.depth == round_.proposed_n for round_ in rounds)

    def test_speculation_can_be_turned_off(self, pair: InspectablePair) -> None:
        tokens = follow(pair, HELLO, ReplyOptions(GREEDY, spec=())).tokens
        assert {token.origin for token in tokens} == {Origin.PLAIN}

    def test_without_a_draft_model_only_what_needs_none_proposes(self) -> None:
        alone = open_unmeasured(LoadOptions(TARGET, n_ctx=256, threads=1))
        assert {round_.drafter for round_ in follow(alone, HELLO, ReplyOptions(GREEDY)).rounds} <= {None, "suffix"}
        with pytest.raises(UsageError, match="No draft model"):
            follow(alone, HELLO, ReplyOptions(spec=("draft",)))
        alone.close()

    def test_an_unknown_drafter_is_refused_with_the_known_ones(self, pair: InspectablePair) -> None:
        with pytest.raises(UsageError, match=r"'oracle'.*draft"):
            follow(pair, HELLO, ReplyOptions(spec=("oracle",)))

    @pytest.mark.parametrize("depth", [-1, MAX_DEPTH + 1])
    def test_a_depth_that_is_not_prepared_is_refused(self, pair: InspectablePair, depth: int) -> None:
        with pytest.raises(UsageError, match=str(MAX_DEPTH)):
            follow(pair, HELLO, ReplyOptions(depth=depth))

    def test_a_number_out_of_its_range_is_refused(self, pair: InspectablePair) -> None:
        """Also one that came from no command line, as from a history."""
        with pytest.raises(UsageError, match="--top-p"):
            follow(pair, HELLO, ReplyOptions(sampling=Sampling(top_p=7)))

    def test_the_deepest_draft_works(self, pair: InspectablePair) -> None:
        assert follow(pair, HELLO, ReplyOptions(GREEDY, depth=MAX_DEPTH)).rounds[0].depth == MAX_DEPTH

    def test_the_same_seed_gives_the_same_reply(self, pair: InspectablePair) -> None:
        """Except for the floating-point noise between batch shapes, hence at depth 0."""
        options = ReplyOptions(sampling=Sampling(temperature=1.5), depth=0, seed=7, max_tokens=30)
        assert follow(pair, HELLO, options).text == follow(pair, HELLO, options).text

    def test_a_fresh_seed_is_taken_and_told(self, pair: InspectablePair) -> None:
        begun = [next(pair.reply(HELLO, ReplyOptions(max_tokens=1))) for _ in range(3)]
        assert len({started.seed for started in begun if isinstance(started, Started)}) == 3

    def test_a_reply_without_a_draft_is_as_fast_as_plain_decoding(self, pair: InspectablePair) -> None:
        """Whatever else the machine does: it is held against its own rounds."""
        timings = follow(pair, HELLO, ReplyOptions(GREEDY, spec=())).timings
        assert timings.speedup_vs_plain == pytest.approx(1.0, abs=0.05)
        assert not timings.busy

    def test_log_probabilities_are_the_targets_own_and_change_nothing(self, pair: InspectablePair) -> None:
        """A bias makes the reply another, never what the target thought of it."""
        biased = Sampling(temperature=0.0, logit_bias=((36, 30.0),))
        for sampling in (GREEDY, biased):
            plain, told = (
                follow(pair, HELLO, ReplyOptions(sampling, depth=3, max_tokens=12, logprobs=n)) for n in (None, 2)
            )
            assert told.text == plain.text
            known = [token.logprobs for token in told.tokens if token.logprobs]
            assert len(known) == len(told.tokens)
            assert all(len(each.top) == 2 and each.top[0].logprob > each.top[1].logprob for each in known)
            assert all(each.logprob <= each.top[0].logprob <= 0 for each in known)
            own = [each.top[0].id for each in known] == [token.id for token in told.tokens]
            assert own == (sampling is GREEDY)

    def test_a_gap_is_filled_by_a_model_that_has_the_tokens_for_it(self, pair: InspectablePair, tmp_path: Path) -> None:
        """The tokens are those that the file names; what is written in the text is text."""
        with pytest.raises(InputError, match="no tokens for it"):
            next(pair.reply(Infill("a", "b"), ReplyOptions()))
        filling = open_unmeasured(LoadOptions(write_tiny(tmp_path / "m.gguf", "llama", infills=True)))
        with closing(filling):
            shown = filling.prompter.detokenize(range(1, 4))
            started = next(filling.reply(Infill(shown, "b"), ReplyOptions(max_tokens=1)))
            assert isinstance(started, Started)
            assert started.prompt_n == 3 + len(shown) + 1

    def test_an_empty_prompt_is_refused_before_the_first_event(self, pair: InspectablePair) -> None:
        for prompt in ("", [Message(Role.USER, "  ")]):
            with pytest.raises(InputError):
                next(iter(pair.reply(prompt, ReplyOptions())))

    def test_nothing_is_read_ahead_for_no_messages(self, pair: InspectablePair) -> None:
        assert pair.read_ahead(()) == 0

    def test_the_templates_own_text_raw_or_in_tokens_has_the_very_reply_that_the_template_gets(
        self, pair: InspectablePair
    ) -> None:
        raw, options = "<|user|>\nHello!<|end|>\n<|assistant|>\n", ReplyOptions(GREEDY, depth=0)
        ids, _ = pair.prompter.tokenize(raw, special=True)
        by_template, by_text, by_tokens = (follow(pair, prompt, options).text for prompt in (HELLO, raw, TokenIds(ids)))
        assert by_template == by_text == by_tokens


def test_messages_left_out_are_told() -> None:
    """A conversation too long for the context goes on with its newest turns."""
    pair = open_unmeasured(LoadOptions(TARGET, n_ctx=64, threads=1))
    messages = [Message((Role.USER, Role.ASSISTANT)[i % 2], "one two three") for i in range(21)]
    first = next(iter(pair.reply(messages, ReplyOptions(max_tokens=4))))
    assert isinstance(first, Started)
    assert first.dropped_n > 0
    assert first.dropped_n % 2 == 0
    assert first.prompt_n <= 60
    pair.close()


@pytest.mark.parametrize("name", drafter_names())
def test_each_drafter_bears_the_name_of_its_file(name: str) -> None:
    model, target = TableModel(letters(5)), HiddenTarget(ExactModel(letters(5)))
    head = HeadInputs(FakeHead(model.vocab), target.keep_hidden([1]))
    block = HeadInputs(FakeBlockHead(model.vocab), target.keep_hidden([1]))
    inputs = DrafterInputs(model.vocab, model, heads={"eagle3": head, "mtp": head, "dflash": block})
    assert make_drafter(name, inputs).name == name


class TestPlainSpeed:
    def test_a_model_that_ends_every_reply_at_once_is_measured_all_the_same(self) -> None:
        """Every token is the end of a turn: the reply is begun again until enough rounds are counted."""
        model = TableModel(letters(4, frozenset(range(4))))
        assert plain_round(model, [1, 2, 3], Cancellation(), MeasuringProgress()).total_s > 0
        assert sum(last for _, last in model.calls) == 25

    def test_a_slow_model_is_not_measured_for_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Three rounds after the first are enough once they took their time; the median is the answer."""
        clock = iter(range(10_000))
        monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
        model = TableModel(letters(4))
        plain = plain_round(model, [1, 2, 3], Cancellation(), MeasuringProgress())
        assert sum(last for _, last in model.calls) == 4
        assert plain.total_s == pytest.approx(4)

    def test_it_can_be_cancelled(self) -> None:
        cancel = Cancellation()
        cancel.set()
        with pytest.raises(Cancelled):
            plain_round(TableModel(letters(4)), [1, 2, 3], cancel, MeasuringProgress())
