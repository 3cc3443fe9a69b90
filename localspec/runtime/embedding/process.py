"""The client of the embedding process, which waits for each answer: to be used in a thread of its own."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from localspec.base.errors import EngineError
from localspec.base.visible import visible_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMMAND = (sys.executable, "-P", "-m", "localspec.runtime.embedding.child")
_MAX_WIDTH = 65_536
_MAX_LINE_BYTES = 4 * _MAX_WIDTH


class EmbeddingProcess:
    """One process with its model."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        """Start the process and wait until its model is loaded. Raises EngineError."""
        self.model = ""
        """The name of the model's file; empty if there is none on this machine."""
        self.width = 0
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise _failure(error.strerror or str(error)) from None
        match self._answer():
            case {"error": ""}:
                self.close()
            case {"model": str(model), "width": int(width)} if 0 < width <= _MAX_WIDTH:
                self.model, self.width = visible_line(model), width
            case answer:
                self.close()
                raise _failure(answer)

    def embed(self, text: str, *, question: bool) -> NDArray[np.float32]:
        """The vector of a text, of length 1, shape (width,). Raises EngineError."""
        import numpy as np

        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"text": text, "question": question}).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise _failure(None) from None
        answer = self._answer()
        data = b""
        if isinstance(answer, str):
            with suppress(ValueError):
                data = base64.b64decode(answer, validate=True)
        if len(data) != 2 * self.width:
            raise _failure(answer)
        return np.nan_to_num(np.frombuffer(data, np.float16).astype(np.float32))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError), self._process:
            pass  # closes the pipes, where what was not written is lost, and waits

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            return json.loads(self._process.stdout.readline(_MAX_LINE_BYTES))
        except (OSError, ValueError):
            return None


def _failure(answer: object) -> EngineError:
    """The error for an answer without a vector."""
    why = answer["error"] if isinstance(answer, dict) and isinstance(answer.get("error"), str) else "it ended"
    return EngineError(
        f"Passages are found by their words alone: the embedding model failed ({visible_line(why).rstrip('.')}).",
        "Try another embedding model.",
    )
