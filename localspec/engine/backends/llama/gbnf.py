"""Grammars in llama.cpp's own form, GBNF, read and applied by llama.cpp.

Its complaints go to standard error and to its log; both are caught.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import UsageError
from localspec.engine.backends.llama.candidates import CANDIDATE, Ids
from localspec.engine.backends.llama.chain import Chain
from localspec.engine.backends.llama.grammar_size import too_large
from localspec.engine.backends.llama.native import native, reason
from localspec.engine.backends.llama.vocab import LlamaVocab
from localspec.engine.settings import BANNED

_ROOT = b"root"
_COMPLAINT = "error parsing grammar: "
_PLACE = " at "
_NEEDS_VOCABULARY = "no vocab to parse token"
_SHOWN = 24
_DEEPEST = 200
_LONGEST = 2_000_000
_MOST_PARTS = 50_000
"""Literals, alternatives and rules: llama.cpp's time grows with their square."""
_reading = Lock()
"""Held while standard error is elsewhere: of two threads that put it back one would put back the other's file."""
_LITERAL = re.compile(r'"(?:\\.|[^"\\])*(?:"|\\?\Z)|\[(?:\\.|[^\]\\])*(?:\]|\\?\Z)|#[^\n]*', re.DOTALL)
"""Texts, sets and comments; one that is not closed ends with the grammar, or each would be searched to the end."""
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_HUGE_COUNT = re.compile(r"\{[\s\d,]*\d{19}")
_COUNTS = re.compile(r"\{\s*(\d+)\s*,\s*(\d+)\s*\}")


class GbnfRules:
    """The place in a grammar, as ``grammar.Rules``."""

    forced = few = None
    """Not known: llama.cpp tells it of one token at a time, and a vocabulary has many."""

    def __init__(self, rules: Chain) -> None:
        self._rules = rules

    @staticmethod
    def of(text: str, vocab: LlamaVocab) -> GbnfRules:
        """The grammar at its beginning. Raises UsageError as ``check_gbnf`` does."""
        made, why = _read(text, vocab)
        if not made:
            raise _refused(text, why)
        return GbnfRules(Chain(native().c, made))

    def allows(self, ids: Ids) -> NDArray[np.bool_]:
        c = native().c
        tokens = np.zeros(len(ids), dtype=CANDIDATE)
        tokens["id"] = ids
        pointer = tokens.ctypes.data_as(c.llama_token_data_p)
        self._rules.apply(c.llama_token_data_array(pointer, len(tokens), -1, False))
        fits: NDArray[np.bool_] = tokens["logit"] > BANNED
        return fits

    def accept(self, token: int) -> bool:
        # llama.cpp ends the process over a token that does not fit, so it is never given one.
        fits = bool(self.allows(np.array([token], dtype=np.int64))[0])
        if fits:
            self._rules.accept(token)
        return fits

    def clone(self) -> GbnfRules:
        return GbnfRules(self._rules.clone())


def check_gbnf(text: str) -> None:
    """Raise UsageError, with the place, if llama.cpp cannot read a grammar.

    One that names tokens (``<think>``) is only read up to the first of them: they take a model.
    """
    made, why = _read(text, None)
    if made:
        native().c.llama_sampler_free(made)
    elif _NEEDS_VOCABULARY not in why:
        raise _refused(text, why)


def _read(text: str, vocab: LlamaVocab | None) -> tuple[Any, str]:
    """The native sampler, or None and llama.cpp's complaint."""
    if wrong := _beyond_llama(text):
        return None, wrong
    native_ = native()
    handle = vocab.handle if vocab else None
    with _reading, native_.log.heard() as lines, _standard_error() as file:
        made = native_.c.llama_sampler_init_grammar(handle, text.encode(), _ROOT)
        file.seek(0)
        written = file.read().decode(errors="replace")
    complaint = written.partition(_COMPLAINT)[2].removesuffix(f"\n\n{text}\n")
    return made, complaint or reason(lines) or "llama.cpp does not say why"


def _beyond_llama(text: str) -> str | None:
    """The reason against a grammar that llama.cpp would not refuse, but hang or crash over; None if it has none."""
    if not text.strip() or _UNWRITABLE.search(text):
        return "a grammar has rules, and neither zero bytes nor half characters"
    if len(text) > _LONGEST:
        return f"it has {len(text):,} characters, and {_LONGEST:,} are read"
    bare = _LITERAL.sub('""', text)
    if bare.count('""') + bare.count("|") + bare.count("::=") > _MOST_PARTS:
        return f"it has more than {_MOST_PARTS:,} literals, alternatives and rules"
    if _HUGE_COUNT.search(bare):
        return "a count of repetitions has more than 18 digits"
    for least, most in _COUNTS.findall(bare):
        if int(least) > int(most):
            return f"{{{least},{most}}} counts from more to less"
    depth = deepest = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        return f"more than {_DEEPEST} brackets within each other"
    return too_large(text)


def _refused(text: str, why: str) -> UsageError:
    what, at, rest = why.partition(_PLACE)
    hint = "llama.cpp's grammars/README.md describes the form."
    if not at or not text.endswith(rest):
        return UsageError(f"The grammar cannot be used: {why}.", hint)
    before = text[: len(text) - len(rest)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    found = repr(rest.split("\n")[0][:_SHOWN]) if rest else "the end"
    return UsageError(f"The grammar cannot be used: line {line}, column {column}, at {found}: {what}.", hint)


@contextmanager
def _standard_error() -> Iterator[IO[bytes]]:
    """A file that takes all that is written to the descriptor of standard error meanwhile, by any thread."""
    with tempfile.TemporaryFile() as file:
        try:
            kept = os.dup(2)
        except OSError:  # it is closed
            yield file
            return
        if sys.stderr:  # otherwise it was closed at the start, and the file may have its number
            sys.stderr.flush()
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(kept, 2)
            os.close(kept)
