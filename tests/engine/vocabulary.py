"""The built-in pair's vocabulary without its weights, for what needs tokens and no model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from localspec.engine.backends.llama.native import native
from localspec.engine.backends.llama.vocab import LlamaVocab
from tests.builtin import TARGET


@contextmanager
def builtin_vocab() -> Iterator[LlamaVocab]:
    loaded = native()
    params = loaded.c.llama_model_default_params()
    params.vocab_only = True
    model = loaded.c.llama_model_load_from_file(os.fsencode(TARGET), params)
    yield LlamaVocab(loaded, model)
    loaded.c.llama_model_free(model)
