"""A draft model's scores for a part of a large vocabulary, from the states behind its last layer.

Qwen 3.5 hands these over, behind its output norm. Of others llama.cpp hands over the input of every layer, but not the
output of the last one; these are loaded with one layer more, of zeros, which changes nothing, and the norm is computed
here. No scores are asked of llama.cpp then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localspec.base.errors import CapacityError, DrafterUnavailableError, ModelFileError
from localspec.engine.backends.llama.batch import Batch
from localspec.engine.backends.llama.draft_vocabulary import DraftVocabulary, pays
from localspec.engine.backends.llama.file_header import FileHeader, opened
from localspec.engine.backends.llama.ggml import F32, FLOAT32, UINT32
from localspec.engine.backends.llama.hidden import hidden_functions
from localspec.engine.backends.llama.load import LoadedModel, LoadSettings, load
from localspec.engine.backends.llama.native import Native
from localspec.engine.backends.llama.native_views import NativeViews
from localspec.engine.backends.llama.output_matrix import OutputMatrix
from localspec.engine.backends.llama.second_part import PartTensor, SecondPart
from localspec.engine.cancel import Cancellation
from localspec.engine.hidden import Rows
from localspec.engine.model import Logits

_NORMED = frozenset({"qwen35"})
"""Architectures whose final states, as llama.cpp hands them over, are behind the output norm."""
_WITH_ONE_MORE = frozenset({"llama", "qwen3"})
"""Architectures whose layers of zeros change nothing."""
_MOST_LAYERS_N = 512
"""llama.cpp ends the process over more."""
_NORM = "output_norm.weight"


@dataclass(frozen=True, slots=True)
class _LastInput:
    """The input of a layer of zeros that is put behind the last one, and the norm behind that."""

    layer_n: int
    """The number of that layer."""
    layer: SecondPart
    norm: NDArray[np.float32]
    """The weights of the norm."""
    epsilon: float

    @staticmethod
    def of(file: FileHeader, path: Path) -> _LastInput | None:
        """None if the file lacks something that files of its architecture have."""
        layers_n = int(file.number(f"{file.architecture}.block_count", UINT32) or 0)
        epsilon = file.number(f"{file.architecture}.attention.layer_norm_rms_epsilon", FLOAT32)
        norm = next((tensor for tensor in file.tensors if tensor.name == _NORM and tensor.type_id == F32), None)
        if not 0 < layers_n < _MOST_LAYERS_N or epsilon is None or norm is None:
            return None
        weights = np.fromfile(path, np.float32, norm.shape[0], offset=norm.offset)
        return _LastInput(layers_n, _layer_of_zeros(file, layers_n), weights, epsilon)

    def normed(self, states: Rows) -> Rows:
        """The rows that the output matrix is multiplied with."""
        scale = np.sqrt(np.square(states).mean(axis=1, keepdims=True) + np.float32(self.epsilon))
        rows: Rows = states / scale * self.norm
        return rows


@dataclass(frozen=True, slots=True)
class _Ending:
    """A file's output matrix, and the input of the layer that is put before it."""

    matrix: OutputMatrix
    last_input: _LastInput | None
    """None where the states are handed over as they are multiplied with the matrix."""

    @staticmethod
    def of(native: Native, settings: LoadSettings) -> _Ending | None:
        """None if the vocabulary is small, or the states cannot be had."""
        last_input, path = None, settings.path
        with opened(native, path) as file:
            if file is None or file.architecture not in _NORMED | _WITH_ONE_MORE:
                return None
            width = int(file.number(f"{file.architecture}.embedding_length", UINT32) or 0)
            if file.architecture in _WITH_ONE_MORE:
                last_input = _LastInput.of(file, path)
                if last_input is None or len(last_input.norm) != width:
                    return None
        matrix = OutputMatrix.find(native, path, width)
        return _Ending(matrix, last_input) if matrix and matrix.rows_n >= 2 * settings.draft_tokens else None


def _layer_of_zeros(file: FileHeader, layers_n: int) -> SecondPart:
    """One more layer for a file, of the shapes and types of its last one."""
    last, added = f"blk.{layers_n - 1}.", f"blk.{layers_n}."
    tensors = tuple(
        PartTensor(added + tensor.name.removeprefix(last), tensor.shape, tensor.type_id, tensor.size_bytes)
        for tensor in file.tensors
        if tensor.name.startswith(last)
    )
    return SecondPart(tensors, {f"{file.architecture}.block_count": layers_n + 1})


class FinalStates:
    """The scores of a model that hands these states over. The owner calls ``close``, and frees the model."""

    def __init__(self, loaded: LoadedModel, vocabulary: DraftVocabulary, last_input: _LastInput | None) -> None:
        self._functions = hidden_functions()
        self._vocabulary, self._last_input = vocabulary, last_input
        self._views = NativeViews()
        self._threads_n = loaded.native.c.llama_n_threads
        for context in filter(None, (loaded.context, loaded.short)):
            if last_input:
                self._functions.set_layer(context, last_input.layer_n, True)
            else:
                self._functions.set_final(context, True, False)

    @property
    def covers(self) -> bool:
        """As ``DraftVocabulary.covers``: False where llama.cpp had better compute the scores, of all tokens."""
        return self._vocabulary.covers

    def read(self, tokens: Iterable[int]) -> None:
        """As ``DraftVocabulary.read``."""
        self._vocabulary.read(tokens)

    def scores(self, context: Any, places: Sequence[int]) -> Logits:
        """The scores after tokens at ``places`` of the last batch that a native context evaluated, by row."""
        last_input, read = self._last_input, self._functions
        first = read.get_layer(context, last_input.layer_n) if last_input else read.get_final(context)
        states = self._views.of(first, max(places) + 1, self._vocabulary.matrix.width)[list(places)]
        rows = last_input.normed(states) if last_input else states
        return self._vocabulary.scores(rows, int(self._threads_n(context)))

    def close(self) -> None:
        """Free the native memory of its own."""
        self._vocabulary.close()


def load_draft(
    native: Native,
    settings: LoadSettings,
    cancel: Cancellation,
    progress: Callable[[float], None] | None,
    n_vocab: int | None,
) -> tuple[LoadedModel, FinalStates | None]:
    """A draft model, and where it is quicker so, its scores for a part of its vocabulary.

    ``n_vocab`` as of ``LlamaModel``. Raises what ``load`` does.
    """
    wanted = _on_cpu(native, settings) if settings.draft_vocabulary is None else settings.draft_vocabulary
    if wanted and settings.mmap is not False:
        with ExitStack() as own, suppress(CapacityError, ModelFileError, DrafterUnavailableError, OSError):
            found = _load_with_states(native, settings, cancel, progress, n_vocab, own)
            if found and _pays(*found, settings):
                own.pop_all()
                return found
    return load(native, settings, cancel, progress), None


def _load_with_states(
    native: Native,
    settings: LoadSettings,
    cancel: Cancellation,
    progress: Callable[[float], None] | None,
    n_vocab: int | None,
    own: ExitStack,
) -> tuple[LoadedModel, FinalStates] | None:
    """The model, so that it hands over its final states, and these; ``own`` will free them. None if it cannot."""
    ending = _Ending.of(native, settings)
    if ending is None:
        return None
    layer = ending.last_input.layer if ending.last_input else None
    loaded = load(native, replace(settings, second_part=layer), cancel, progress)
    own.callback(loaded.free)
    all_n = int(native.c.llama_vocab_n_tokens(native.c.llama_model_get_vocab(loaded.model)))
    vocabulary = DraftVocabulary(native, ending.matrix, min(all_n, n_vocab or all_n), settings.draft_tokens)
    own.callback(vocabulary.close)
    return loaded, FinalStates(loaded, vocabulary, ending.last_input)


def _on_cpu(native: Native, settings: LoadSettings) -> bool:
    """True if no layer can come to a device."""
    return settings.gpu_layers == 0 or settings.devices == () or not native.c.llama_supports_gpu_offload()


def _pays(loaded: LoadedModel, states: FinalStates, settings: LoadSettings) -> bool:
    """As ``draft_vocabulary.pays``, of the first token of a text."""
    c, context = loaded.native.c, loaded.short or loaded.context
    batch, memory = Batch(c, 1), c.llama_get_memory(context)

    def evaluate(*, scored: bool) -> None:
        c.llama_memory_clear(memory, True)
        batch.clear()
        batch.add([0], 0, int(scored), 1)
        if c.llama_decode(context, batch.native):
            raise ModelFileError("llama.cpp does not hand over its states.", "It is loaded without.")

    def whole() -> Logits:
        evaluate(scored=True)
        scores: Logits = np.ctypeslib.as_array(c.llama_get_logits_ith(context, 0), (settings.draft_tokens,))
        return scores

    def few() -> Logits:
        evaluate(scored=False)
        scores: Logits = states.scores(context, [0])[0]
        return scores

    try:
        return pays(whole, few, settings.draft_tokens, always=settings.draft_vocabulary is True)
    finally:
        c.llama_memory_clear(memory, True)
