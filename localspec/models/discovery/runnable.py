"""The reason why LocalSpec cannot chat with a model of the Hub, by the architecture that the Hub names.

The architectures were read from the source of the build 0c1e570 (llama-cpp-python 0.3.36): ``src/llama-arch.cpp``.
"""

from __future__ import annotations

from localspec.gguf.draft_heads import BY_ARCHITECTURE, DRAFTERS
from localspec.models.embedders import EMBEDDING_ARCHITECTURES

_SPEECH = "it makes speech, not text"
_WHOLE = "it does not write a text token by token"
_OTHERS = {
    **dict.fromkeys(("wavtokenizer-dec", "qwen3tts", "pockettts"), _SPEECH),
    **dict.fromkeys(("t5", "t5encoder", "dream", "llada", "llada-moe", "rnd1"), _WHOLE),
}
WRITERS = frozenset(
    {
        *("afmoe", "apertus", "arcee", "arctic", "arwkv7", "baichuan", "bailingmoe", "bailingmoe2", "bailingmoe3"),
        *("bitnet", "bloom", "chameleon", "chatglm", "codeshell", "cogvlm", "cohere2", "cohere2moe", "command-r"),
        *("dbrx", "deci", "deepseek", "deepseek2", "deepseek2-ocr", "deepseek32", "deepseek4", "dots1", "dots3note"),
        *("ernie4_5", "ernie4_5-moe", "exaone", "exaone-moe", "exaone4", "falcon", "falcon-h1", "gemma", "gemma2"),
        *("gemma3", "gemma3n", "gemma4", "glm-dsa", "glm4", "glm4moe", "glm5-next", "gpt-oss", "gpt2", "gptj"),
        *("gptneox", "granite", "granite_swa", "granitehybrid", "granitemoe", "graniteswitch", "grok", "grovemoe"),
        *("hrm_text", "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "hy_v4", "internlm2", "jais", "jais2"),
        *("jamba", "kimi-k3", "kimi-linear", "laguna", "lfm2", "lfm2moe", "llama", "llama4", "maincoder", "mamba"),
        *("mamba2", "maple", "mellum", "mimo2", "minicpm", "minicpm3", "minimax-01", "minimax-m2", "minimax-m3"),
        *("mistral3", "mistral4", "mpt", "muse-glimmer", "nanbeige", "nemotron", "nemotron_h", "nemotron_h_moe"),
        *("olmo", "olmo2", "olmoe", "openelm", "orion", "paddleocr", "pangu-embedded", "phi2", "phi3", "phimoe"),
        *("plamo", "plamo2", "plamo3", "plm", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen35", "qwen35moe"),
        *("qwen3moe", "qwen3next", "qwen3vl", "qwen3vlmoe", "qwen4exp", "refact", "rwkv6", "rwkv6qwen2", "rwkv7"),
        *("seed_oss", "smallthinker", "smollm3", "spark2_5", "stablelm", "starcoder", "starcoder2", "step35"),
        *("talkie", "xverse"),
    }
)
"""The architectures of models that write token by token, and which llama.cpp knows."""
_OF_USE = EMBEDDING_ARCHITECTURES | {"llama-embed", "clip"}
"""The architectures of embedding models, and of projectors: the file that describes a repository may be one."""


def obstacle(architecture: str | None) -> str:
    """The reason as a clause; empty for a model that writes, that finds passages, or of which too little is known."""
    if architecture is None or architecture in WRITERS | _OF_USE:
        return ""
    if architecture in BY_ARCHITECTURE:
        return f"it is {DRAFTERS[BY_ARCHITECTURE[architecture]]}, which drafts for the model that it was made for"
    unknown = f"the llama.cpp in this LocalSpec does not know the architecture {architecture}"
    return _OTHERS.get(architecture, unknown)
