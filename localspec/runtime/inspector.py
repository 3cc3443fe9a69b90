"""Looking again at replies that were written: with the prompt that they were written to, token by token.

The prompts of the latest replies are kept, since the same conversation may be split into other tokens
later; an older one is made anew from its messages, and the answer says so.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from localspec.base.errors import CapacityError, InputError
from localspec.engine.backends.llama.grammar import GrammarSampler
from localspec.engine.backends.llama.sampler import make_sampler
from localspec.engine.events import TokenLogprobs
from localspec.engine.images import has_places, text_alone
from localspec.engine.inspecting import inspect, token_logprobs, token_probs
from localspec.engine.inspection import Inspection
from localspec.engine.logprobs import LogprobReader
from localspec.engine.model import Model
from localspec.engine.sampling import Sampler
from localspec.engine.settings import Sampling
from localspec.runtime.messages import Message, ReplyOptions
from localspec.runtime.opening import PairTarget
from localspec.runtime.prompt_images import PromptImages
from localspec.runtime.prompting import Prompter, check_ids
from localspec.runtime.sampling import check_ranges

KEPT_PROMPTS_N = 64

Asked = Sequence[Message] | str
_Key = tuple[tuple[Message, ...] | str, ReplyOptions]


class Inspector:
    """Implements ``load.PairInspector``. It owns no model; what their caches hold afterwards is what was asked last."""

    def __init__(self, target: PairTarget, draft: Model | None, max_outputs: int, images: PromptImages) -> None:
        """``max_outputs`` is how many rows of scores the target is prepared for."""
        self._target = target
        self._draft = draft
        self._max_outputs = max_outputs
        self._images = images
        self._prompts: OrderedDict[_Key, tuple[array[int], Sampling]] = OrderedDict()
        """The tokens of each, and the sampling of its reply."""

    def remember(self, prompt: Asked, options: ReplyOptions, tokens: Sequence[int], held: Sampling) -> None:
        """A reply is being written to this prompt, whose tokens are these; ``held`` is its sampling with constraint."""
        key = _key(prompt, options)
        self._prompts[key] = array("i", tokens), held
        self._prompts.move_to_end(key)
        if len(self._prompts) > KEPT_PROMPTS_N:
            self._prompts.popitem(last=False)

    def inspect(self, prompt: Asked, options: ReplyOptions, reply: Sequence[int], position: int) -> Inspection:
        self._check(reply, position, position + 1)
        tokens, sampling, exact = self._prompt(prompt, options, position)
        vocab = self._target.vocab
        seen = inspect(
            self._target,
            self._draft,
            [*tokens, *reply[:position]],
            reply[position],
            self._sampler(sampling, tokens, reply[:position]),
            lambda token: vocab.source(token).decode("utf-8", errors="replace"),
        )
        return replace(seen, greedy=options.sampling.greedy, exact_context=exact)

    def probs(
        self, prompt: Asked, options: ReplyOptions, reply: Sequence[int], start: int, stop: int
    ) -> tuple[float, ...]:
        self._check(reply, start, stop)
        tokens, _, _ = self._prompt(prompt, options, stop)
        chunks = token_probs(self._target, [*tokens, *reply[:start]], reply[start:stop], self._max_outputs)
        return tuple(prob for chunk in chunks for prob in chunk)

    def logprobs(self, ids: Sequence[int], start: int, stop: int, top_n: int) -> tuple[TokenLogprobs, ...]:
        check_ids(ids, self._target.vocab.n_vocab)
        if start < 1:
            raise InputError("A text's first token follows nothing.", "Ask about those after it.")
        self._check(ids, start, stop)
        self._check_room(stop)
        reader = LogprobReader(top_n, self._target.vocab.source)
        return tuple(token_logprobs(self._target, ids[:start], ids[start:stop], self._max_outputs, reader))

    def _prompt(self, prompt: Asked, options: ReplyOptions, reply_n: int) -> tuple[list[int], Sampling, bool]:
        """The prompt's tokens, the sampling, and whether they are the very ones. Raises InputError or CapacityError."""
        kept, sampling = self._prompts.get(_key(prompt, options)), options.sampling
        if kept is not None:
            tokens, sampling = kept[0].tolist(), kept[1]
            if has_places(tokens) and not isinstance(prompt, str):
                for message in prompt:
                    self._images.prepared(message)  # they may have been let go
        else:
            # A prompter of its own: the conversation's must not take this for the latest question.
            prompter = Prompter(self._target.vocab, self._target.n_ctx, images=self._images)
            tokens = prompter.prompt(prompt, options).tokens
        self._check_room(len(tokens) + reply_n)
        return tokens, sampling, kept is not None

    def _check_room(self, tokens_n: int) -> None:
        """Raise CapacityError if the last of so many tokens has no place in the context before it."""
        if tokens_n > self._target.n_ctx + 1:
            raise CapacityError(
                "The reply and its prompt are too long for the context.", "Load the pair with a larger --ctx."
            )

    def _sampler(self, sampling: Sampling, prompt: Sequence[int], before: Sequence[int]) -> Sampler | None:
        """The sampler at the end of this text; None for mirostat, which goes by every choice it made before, and for
        text that the grammar does not allow.
        """
        if sampling.mirostat:
            return None
        check_ranges(sampling)
        vocab = self._target.vocab
        sampler = make_sampler(sampling, vocab.n_vocab, vocab, text_alone(prompt))
        if not sampler.stateless:
            for token in before:
                sampler.accept(token)
        return None if isinstance(sampler, GrammarSampler) and sampler.has_left else sampler

    def _check(self, reply: Sequence[int], start: int, stop: int) -> None:
        if not 0 <= start < stop <= len(reply):
            raise InputError(
                f"A reply of {len(reply)} tokens has no tokens {start} to {stop - 1}.", "Choose one of its tokens."
            )
        if not all(0 <= token < self._target.vocab.n_vocab for token in reply):
            raise InputError(
                "This reply was written with another vocabulary.", "Load the pair that wrote it to look into it."
            )


def _key(prompt: Asked, options: ReplyOptions) -> _Key:
    """The prompt with the options that prompt and sampler are made from."""
    asked = prompt if isinstance(prompt, str) else tuple(prompt)
    return asked, replace(options, spec=None, depth=None, seed=None, stop=(), logprobs=None, repeatable=False)
