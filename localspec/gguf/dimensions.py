"""The hyperparameters that the memory of a network depends on, read from a header with llama.cpp's defaults."""

from __future__ import annotations

from array import array
from functools import cached_property

from localspec.gguf import GgufHeader
from localspec.gguf.draft_heads import announced_mtp_layers

_RECURRENT = {"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}
"""Architectures without attention."""
_PARALLEL = {"falcon-h1"}
"""Architectures with attention and a recurrent state in every layer."""
_FULL_ATTENTION_INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "minimax-01": 8}
"""Architectures where every n-th layer has attention and the others a recurrent state; a file may override n."""
_RECURRENT_WITHOUT_HEADS = {
    *("jamba", "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "plamo2"),
    *("kimi-linear", "kimi-k3", "bailingmoe3", "glm5-next"),
}
"""Architectures where the layers without heads have a recurrent state."""
_SNAPSHOTS = {
    *("kimi-k3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "glm5-next"),
    *("nemotron_h", "nemotron_h_moe", "lfm2", "lfm2moe", "bailingmoe3"),
}
"""Architectures whose recurrent state llama.cpp can roll back by a few tokens."""
_WINDOW_PERIOD = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4, "olmo2": 4, "gemma3n": 5}
"""Every n-th layer has full attention and the others a sliding window; a file may override n."""
_SHARES_CACHE = {"gemma4-assistant"}
"""Heads that attend to the cache of their target."""
_CACHING_LAYERS = {"gemma3n": 20}
"""The first layers, which have a cache; the later ones read theirs."""
_NAMES_SHARING_LAYERS = {"gemma4"}
"""Architectures whose files say how many of the last layers read the cache of earlier ones."""
_BLOCK_WIDTH = 32
"""Elements in a block of the quantised types that a cache can have."""


class Hyperparameters:
    """The hyperparameters of a header's network; missing ones count as 0, nothing raises."""

    def __init__(self, header: GgufHeader) -> None:
        self._header = header
        self._prefix = header.architecture
        self.n_layers = header.block_count or 0
        """All layers, the MTP layers at their end included."""
        self.n_mtp = min(self.n_layers, announced_mtp_layers(header))
        self.width = self._number("embedding_length")
        self.n_vocab = len(header.vocabulary.tokens)
        self._heads = self._per_layer("attention.head_count", [0] * self.n_layers)
        self._kv_heads = self._per_layer("attention.head_count_kv", self._heads)
        self.n_heads = max(self._heads, default=0)
        self.window = self._number("attention.sliding_window")
        """Tokens in the sliding window; 0 without one."""
        self._state_width = self._recurrent_width()

    @property
    def feed_forward_width(self) -> int:
        """The width of the widest feed-forward layer; for a mixture, of all experts used for a token."""
        dense = max(self._per_layer("feed_forward_length", [0]), default=0)
        used = max(self._per_layer("expert_used_count", [0]), default=0)
        experts = used * max(self._per_layer("expert_feed_forward_length", [0]), default=0)
        return max(dense, experts + self._number("expert_shared_feed_forward_length"))

    @property
    def state_space_width(self) -> int:
        return self._number("ssm.inner_size")

    @property
    def takes_snapshots(self) -> bool:
        """True if llama.cpp can keep earlier recurrent states of this architecture."""
        return self._prefix in _SNAPSHOTS

    def key_value_widths(self, layer: int) -> tuple[int, int]:
        """Numbers cached for a token by the attention of a layer: of its key and its value."""
        if self._prefix in _SHARES_CACHE or layer >= self._caching_layers() or not self._attends(layer):
            return 0, 0
        heads = self._kv_heads[layer]
        k, v = self._head_widths(layer)
        # Multi-head latent attention caches one vector for key and value together.
        latent = self._number("attention.key_length_mla") > 0
        return heads * k, 0 if latent else heads * v

    @cached_property
    def widest_value(self) -> int:
        """The largest number of values that the attention of any layer has for a token."""
        return max((self._kv_heads[layer] * self._head_widths(layer)[1] for layer in range(self.n_layers)), default=0)

    def _caching_layers(self) -> int:
        shared = self._number("attention.shared_kv_layers") if self._prefix in _NAMES_SHARING_LAYERS else 0
        return _CACHING_LAYERS.get(self._prefix, self.n_layers - shared)

    def can_quantise_cache(self) -> bool:
        """True if the key and value of every head fill whole blocks of the quantised types."""
        layers = filter(self._attends, range(self.n_layers))
        return all(width % _BLOCK_WIDTH == 0 for layer in layers for width in self._head_widths(layer))

    def _head_widths(self, layer: int) -> tuple[int, int]:
        fallback = self.width // max(1, self._heads[layer])
        suffix = "_swa" if self.sees_window(layer) else ""
        k, v = (
            self._number(f"attention.{name}_length{suffix}") or self._number(f"attention.{name}_length") or fallback
            for name in ("key", "value")
        )
        return k, v

    def sees_window(self, layer: int) -> bool:
        if not self.window:
            return False
        pattern = self._header.metadata.get(f"{self._prefix}.attention.sliding_window_pattern")
        if isinstance(pattern, array):
            return layer < len(pattern) and bool(pattern[layer])
        period = pattern if isinstance(pattern, int) else _WINDOW_PERIOD.get(self._prefix, 1)
        # With an unknown pattern, a full cache is the safe assumption.
        return layer % period < period - 1 if period > 0 else True

    def state_width(self, layer: int) -> int:
        """Numbers in the recurrent state of a layer; 0 if it has none."""
        return self._state_width if self._recurs(layer) else 0

    @property
    def has_states(self) -> bool:
        return any(map(self.state_width, range(self.n_layers)))

    def _attends(self, layer: int) -> bool:
        return self._prefix not in _RECURRENT and (self._prefix in _PARALLEL or not self._recurs(layer))

    def _recurs(self, layer: int) -> bool:
        if layer >= self.n_layers - self.n_mtp:
            return False
        if self._prefix in _RECURRENT | _PARALLEL:
            return True
        if self._prefix in _RECURRENT_WITHOUT_HEADS:
            return self._kv_heads[layer] == 0
        if self._prefix not in _FULL_ATTENTION_INTERVAL:
            return False
        flags = self._per_layer("attention.recurrent_layers", [])
        if layer < len(flags):
            return bool(flags[layer])
        interval = self._number("full_attention_interval") or _FULL_ATTENTION_INTERVAL[self._prefix]
        return (layer + 1) % interval != 0

    def _recurrent_width(self) -> int:
        """The numbers in both parts of the state: of the convolution and of the recurrence."""
        if wkv := self._number("wkv.head_size"):
            shifts = self._number("token_shift_count") or (
                1 if "qwen2" in self._prefix or "arwkv" in self._prefix else 2
            )
            return shifts * self.width + self.width * wkv
        if short := self._number("shortconv.l_cache"):
            return self.width * (short - 1)
        before = max(0, self._number("ssm.conv_kernel") - 1)
        if kda := self._number("kda.head_dim"):
            inner = self.n_heads * kda
            return 3 * (before or 3) * inner + kda * inner
        inner, state = self._number("ssm.inner_size"), self._number("ssm.state_size")
        return before * (inner + 2 * self._number("ssm.group_count") * state) + state * inner

    def _number(self, key: str) -> int:
        return max(0, self._header.integer(f"{self._prefix}.{key}") or 0)

    def _per_layer(self, key: str, default: list[int]) -> list[int]:
        value = self._header.metadata.get(f"{self._prefix}.{key}")
        if isinstance(value, array) and value.typecode not in "fd":
            numbers = [max(0, int(number)) for number in value[: self.n_layers]]
            return numbers + [0] * (self.n_layers - len(numbers))
        if isinstance(value, int):
            return [max(0, value)] * self.n_layers
        return default
