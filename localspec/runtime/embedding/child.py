"""The child process of an embedding model: ``python -m localspec.runtime.embedding.child [FILE MOST_TOKENS]``.

It loads the file, or looks for a model, and writes a line of JSON: ``{"model": NAME, "width": N, "most_tokens": N}``,
or ``{"error": SENTENCE}``, which is empty where there is no model. For each line ``{"text": TEXT, "as": KIND}`` that it
reads it writes one: ``{"vector": NUMBERS, "tokens": N}``, the numbers in base64, 32 bits each. A ``question`` and a
``passage`` begin with what the model expects before such, and passages are kept on the disk; a ``text`` is taken as it
is. The process runs at a lower priority and ends with its input. If llama.cpp aborts over a stranger's file, only this
process ends.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import LocalSpecError
from localspec.base.file_identity import sample_digest
from localspec.base.paths import user_paths
from localspec.engine.backends.llama.cores import physical_cores
from localspec.engine.backends.llama.embedder import MOST_PASSAGE_TOKENS, LlamaEmbedder
from localspec.engine.backends.llama.native import native
from localspec.gguf import read_header
from localspec.models.embedders import instructions
from localspec.models.pairs.embedder import find_embedder
from localspec.runtime.embedding.process import PASSAGE, QUESTION
from localspec.runtime.embedding.vector_cache import VectorCache

CACHE = "embeddings.sqlite"
_NICE = 5


class _Model:
    """The model with what stands in front of its texts, and the cache of passages."""

    def __init__(self, path: Path, most_tokens: int) -> None:
        """Raises LocalSpecError or OSError."""
        self._instructions = instructions(read_header(path))
        self._embedder = LlamaEmbedder(native(), path, max(1, physical_cores() // 2), most_tokens)
        self.width, self.most_tokens = self._embedder.width, self._embedder.most_tokens
        identity = sample_digest(path).hex()
        self._cache = VectorCache(user_paths().data / CACHE, identity, self.width)

    def vector(self, text: str, kind: str) -> tuple[NDArray[np.float32], int]:
        """The vector of a question, a passage or a plain text, and the number of its tokens; of a passage 0."""
        if kind != PASSAGE:
            tokens = self._embedder.tokens(self._instructions.question + text if kind == QUESTION else text)
            return self._embedder.embed(tokens), len(tokens)
        text = self._instructions.passage + text
        vector = self._cache.get(text)
        if vector is None:
            vector = self._embedder.embed(self._embedder.tokens(text))
            self._cache.keep(text, vector)
        return vector, 0


def main() -> None:
    """Answer until the input ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print
    with suppress(OSError):
        os.nice(_NICE)
    with suppress(BrokenPipeError, KeyboardInterrupt):
        try:
            file, most_tokens = sys.argv[1:] or ("", MOST_PASSAGE_TOKENS)
            path = Path(file) if file else find_embedder(dict(os.environ))
            if path is None:
                _write(out, {"error": ""})
                return
            model = _Model(path, int(most_tokens))
        except (LocalSpecError, OSError) as error:
            _write(out, {"error": str(error)})
            return
        _write(out, {"model": path.name, "width": model.width, "most_tokens": model.most_tokens})
        for line in sys.stdin:
            _answer(model, out, json.loads(line))


def _answer(model: _Model, out: IO[str], asked: Any) -> None:
    try:
        vector, tokens_n = model.vector(asked["text"], asked["as"])
    except LocalSpecError as error:
        _write(out, {"error": str(error)})
        return
    numbers = base64.b64encode(vector.astype(np.float32).tobytes()).decode("ascii")
    _write(out, {"vector": numbers, "tokens": tokens_n})


def _write(out: IO[str], value: object) -> None:
    out.write(json.dumps(value) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
