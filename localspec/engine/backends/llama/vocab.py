"""A model's vocabulary: text to tokens and back, as llama.cpp does it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from localspec.base.errors import InputError, ModelFileError
from localspec.engine.backends.llama.native import Native
from localspec.engine.model import InfillTokens

_LONGEST_PIECE = 256
"""Bytes that nearly every token has room in."""


class LlamaVocab:
    """Tokens of a loaded model. Valid as long as the model is."""

    def __init__(self, native: Native, model: Any) -> None:
        c = native.c
        self._c = c
        self.handle: Any = c.llama_model_get_vocab(model)
        """llama.cpp's own vocabulary."""
        self.n_vocab = int(c.llama_vocab_n_tokens(self.handle))
        self.chat_template = _decoded(c.llama_model_chat_template(model, None))
        """The Jinja source that the model came with."""
        self.tool_template = _decoded(c.llama_model_chat_template(model, b"tool_use"))
        """The source of its template for conversations with tools, if it came with one more for these."""
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}
        self._known_attributes: dict[int, int] = {}

    @cached_property
    def bos(self) -> int | None:
        return _present(self._c.llama_vocab_bos(self.handle))

    @cached_property
    def eos(self) -> int | None:
        return _present(self._c.llama_vocab_eos(self.handle))

    @cached_property
    def adds_bos(self) -> bool:
        """True if the model expects every text to begin with ``bos``."""
        return self.bos is not None and bool(self._c.llama_vocab_get_add_bos(self.handle))

    @cached_property
    def prefixes_space(self) -> bool:
        """True if a space is put in front of text at the start and after control tokens (SentencePiece)."""
        tokens = self.tokenize("a", special=False)
        return b"".join(map(self.piece, tokens)).startswith(b" ")

    @cached_property
    def suppressed(self) -> tuple[int, ...]:
        """Tokens that the model's makers rule out in every reply."""
        n = ctypes.c_int32()
        tokens = self._c.llama_vocab_get_suppress_tokens(self.handle, ctypes.byref(n))
        return tuple(tokens[: n.value]) if n.value else ()

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Every token of which ``is_end`` is true."""
        is_end, vocab = self._c.llama_vocab_is_eog, self.handle
        return tuple(token for token in range(self.n_vocab) if is_end(vocab, token))

    @cached_property
    def infill(self) -> InfillTokens | None:
        """The tokens for filling a gap; None in a model that was not trained for it."""
        c, vocab = self._c, self.handle
        frame = [
            _present(find(vocab)) for find in (c.llama_vocab_fim_pre, c.llama_vocab_fim_suf, c.llama_vocab_fim_mid)
        ]
        prefix, suffix, middle = frame
        if prefix is None or suffix is None or middle is None:
            return None
        repository, file = _present(c.llama_vocab_fim_rep(vocab)), _present(c.llama_vocab_fim_sep(vocab))
        return InfillTokens(prefix, suffix, middle, repository, file)

    @cached_property
    def written_controls(self) -> Mapping[bytes, int]:
        """Control and unknown tokens, by what is written for them: only ``special`` has tokenizing find them."""
        marked = self._c.LLAMA_TOKEN_ATTR_CONTROL | self._c.LLAMA_TOKEN_ATTR_UNKNOWN
        attributes, vocab = self._c.llama_vocab_get_attr, self.handle
        tokens = [token for token in range(self.n_vocab) if attributes(vocab, token) & marked]
        return {text: token for token in tokens if (text := bytes(self._c.llama_vocab_get_text(vocab, token)))}

    def piece(self, token: int) -> bytes:
        """The bytes a token adds to the text; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._render(self._checked(token), special=False)
        return known

    def source(self, token: int) -> bytes:
        """The bytes a token stands for in a prompt, where control tokens are written out."""
        return self._render(self._checked(token), special=True) if self.is_control(token) else self.piece(token)

    def sources(self) -> Iterator[tuple[bytes, bool]]:
        """``source`` and ``is_control`` of every token, in order; much quicker than one by one."""
        size = _LONGEST_PIECE
        buffer = ctypes.create_string_buffer(size)
        render, attributes, vocab = self._c._lib.llama_token_to_piece, self._c.llama_vocab_get_attr, self.handle
        control = self._c.LLAMA_TOKEN_ATTR_CONTROL
        for token in range(self.n_vocab):
            is_control = bool(attributes(vocab, token) & control)
            n = render(vocab, token, buffer, size, 0, is_control)
            yield buffer.raw[:n] if n >= 0 else self.source(token), is_control

    def is_end(self, token: int) -> bool:
        known = self._ends.get(token)
        if known is None:
            known = self._ends[token] = bool(self._c.llama_vocab_is_eog(self.handle, self._checked(token)))
        return known

    def is_control(self, token: int) -> bool:
        """True if the token frames text: what stands before and after it is always tokenized apart."""
        return bool(self._attributes(token) & self._c.LLAMA_TOKEN_ATTR_CONTROL)

    def strips_before(self, token: int) -> bool:
        """True if tokenizing drops white space in front of the token."""
        return bool(self._attributes(token) & self._c.LLAMA_TOKEN_ATTR_LSTRIP)

    def strips_after(self, token: int) -> bool:
        """True if tokenizing drops white space behind the token."""
        return bool(self._attributes(token) & self._c.LLAMA_TOKEN_ATTR_RSTRIP)

    def tokenize(self, text: str | bytes, *, special: bool, ends: bool = False) -> list[int]:
        """The tokens of ``text``; with ``ends``, those too that the model expects at its ends.

        With ``special``, control tokens that are written out in the text are recognised, also those of messages.
        ``localspec.runtime.encoding`` tells a template's from others'.
        """
        data = text if isinstance(text, bytes) else text.encode("utf-8", errors="replace")
        if len(data) >= 2**31:
            raise InputError("The text is larger than two gigabytes.", "Shorten it.")
        # A token stands for a byte at least, but a prefixed space can add one, and the ends some.
        room = len(data) + 8
        tokens = (ctypes.c_int32 * room)()
        n = self._c.llama_tokenize(self.handle, data, len(data), tokens, room, ends, special)
        if n < 0:
            room = -n
            tokens = (ctypes.c_int32 * room)()
            n = self._c.llama_tokenize(self.handle, data, len(data), tokens, room, ends, special)
        found = list(tokens[:n])
        if found and not 0 <= min(found) <= max(found) < self.n_vocab:
            raise ModelFileError(
                "The model's tokenizer has no token for a part of the text, nor for what is unknown.",
                "Its vocabulary is damaged, or of another model; try another file of the same model.",
            )
        return found

    def spell(self, data: bytes) -> list[int]:
        """Tokens that are no control tokens and whose pieces make up ``data``, as far as there are any."""
        tokens = self.tokenize(data, special=False)
        if b"".join(map(self.piece, tokens)) == data:
            return tokens
        # It is no whole text, or a space was put in front of it: then the longest pieces first.
        pieces = ((self.piece(token), token) for token in range(self.n_vocab))
        usable = sorted(
            ((len(piece), token, piece) for piece, token in pieces if piece and piece in data), reverse=True
        )
        spelt_n, tokens = 0, []
        while spelt_n < len(data):
            at = spelt_n
            length, token = next(((n, token) for n, token, piece in usable if data.startswith(piece, at)), (0, -1))
            if not length:
                break
            tokens.append(token)
            spelt_n += length
        return tokens

    def tail(self, tokens: Sequence[int], text: str) -> list[int]:
        """The tokens at the end of ``tokens`` that say ``text``, the first perhaps only its second part.

        Where they say something else (a control token may swallow white space behind it), any tokens of the same text.
        """
        data = text.encode("utf-8", errors="replace")
        for spelled in (tokens, self.tokenize(text, special=False)):
            if (found := self._end_of(spelled, data)) is not None:
                return found
        return self.spell(data)

    def _end_of(self, tokens: Sequence[int], data: bytes) -> list[int] | None:
        """As ``tail``; None if the tokens end with something else."""
        found: list[int] = []
        for token in reversed(tokens):
            if not data:
                break
            source = self.source(token)
            if not source:
                continue
            if data.endswith(source):
                found.append(token)
                data = data[: len(data) - len(source)]
            elif source.endswith(data):
                found += reversed(self.spell(data))
                data = b""
            else:
                return None
        return None if data else found[::-1]

    def _attributes(self, token: int) -> int:
        known = self._known_attributes.get(token)
        if known is None:
            known = self._c.llama_vocab_get_attr(self.handle, self._checked(token))
            self._known_attributes[token] = known
        return known

    def _render(self, token: int, *, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = self._c.llama_token_to_piece(self.handle, token, buffer, size, 0, special)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def _checked(self, token: int) -> int:
        # llama.cpp throws a C++ exception for a token it does not have, and that ends the process.
        if not 0 <= token < self.n_vocab:
            raise IndexError(f"no token {token} in a vocabulary of {self.n_vocab}")
        return token


def _decoded(text: bytes | None) -> str | None:
    return text.decode("utf-8", errors="replace") if text else None


def _present(token: int) -> int | None:
    """llama.cpp says -1 for a token that a vocabulary lacks."""
    return token if token >= 0 else None
