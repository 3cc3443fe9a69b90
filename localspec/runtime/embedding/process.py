"""The client of the embedding process, which waits for each answer: to be used in a thread of its own."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localspec.base.errors import EngineError
from localspec.base.visible import visible_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMMAND = (sys.executable, "-P", "-m", "localspec.runtime.embedding.child")
QUESTION, PASSAGE, TEXT = "question", "passage", "text"
MOST_TEXT_TOKENS = 2048
"""The most tokens of a plain text, if the model was trained on as many."""
_MAX_WIDTH = 65_536
_MAX_LINE_BYTES = 8 * _MAX_WIDTH
_FAILED = "The embedding model failed"
_PASSAGES_FAILED = "Passages are found by their words alone: the embedding model failed"


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of a text."""

    values: NDArray[np.float32]
    """Its numbers; the length of the vector is 1."""
    tokens_n: int
    """Tokens of the text, those past the most that count included."""


class EmbeddingProcess:
    """One process with its model."""

    def __init__(self, command: Sequence[str] = COMMAND, failed: str = _PASSAGES_FAILED) -> None:
        """Start the process and wait until its model is loaded; ``failed`` begins the sentence of an error.

        Raises EngineError.
        """
        self.model = ""
        """The name of the model's file; empty if there is none on this machine."""
        self.width = 0
        self.most_tokens = 0
        """The most tokens of a text that count."""
        self._failed = failed
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C stops a reply, and must not end this. In another session its low priority would mean nothing.
                process_group=0,
            )
        except OSError as error:
            raise self._failure({"error": error.strerror or str(error)}) from None
        match self._answer():
            case {"error": ""}:
                self.close()
            case {"model": str(model), "width": int(width), "most_tokens": int(most)} if 0 < width <= _MAX_WIDTH:
                self.model, self.width, self.most_tokens = visible_line(model), width, most
            case answer:
                self.close()
                raise self._failure(answer)

    @classmethod
    def of(cls, path: Path) -> EmbeddingProcess:
        """The process of the model in a file, for plain texts. Raises EngineError."""
        return cls((*COMMAND, str(path), str(MOST_TEXT_TOKENS)), _FAILED)

    def embed(self, text: str, *, question: bool) -> NDArray[np.float32]:
        """The vector of a question or a passage, of length 1, shape (width,). Raises EngineError."""
        return self._ask(text, QUESTION if question else PASSAGE).values

    def vector(self, text: str) -> Vector:
        """The vector of a text that is neither. Raises EngineError."""
        return self._ask(text, TEXT)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError), self._process:
            pass  # closes the pipes, where what was not written is lost, and waits

    def _ask(self, text: str, kind: str) -> Vector:
        import numpy as np

        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"text": text, "as": kind}).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._failure(None) from None
        data, tokens_n = b"", 0
        match answer := self._answer():
            case {"vector": str(numbers), "tokens": int(tokens_n)}:
                with suppress(ValueError):
                    data = base64.b64decode(numbers, validate=True)
        values = np.frombuffer(data, np.float32) if len(data) == 4 * self.width else None
        if values is None or not np.isfinite(values).all():
            raise self._failure(answer)
        return Vector(values, tokens_n)

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            return json.loads(self._process.stdout.readline(_MAX_LINE_BYTES))
        except (OSError, ValueError, RecursionError):
            return None

    def _failure(self, answer: object) -> EngineError:
        """The error for an answer without a vector."""
        why = answer["error"] if isinstance(answer, dict) and isinstance(answer.get("error"), str) else "it ended"
        return EngineError(f"{self._failed} ({visible_line(why).rstrip('.')}).", "Try another embedding model.")
