"""The architectures whose hidden states llama.cpp hands over, read in its source (0c1e570, ``src/models``).

It ends the process where it is asked for others. So the checks before loading and the engine go by these lists.
"""

from __future__ import annotations

LAYER_ARCHITECTURES = frozenset(
    {
        *("bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan-dense", "hunyuan_vl", "lfm2", "lfm2moe", "llama"),
        *("mimo2", "minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h", "nemotron_h_moe", "qwen3"),
        *("qwen35", "qwen35moe", "qwen3moe", "qwen3next", "qwen4exp"),
    }
)
"""Those that hand over the inputs of their layers."""
FINAL_ARCHITECTURES = frozenset(
    {
        *("bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "gemma4", "glm-dsa", "glm4moe"),
        *("glm5-next", "gpt-oss", "hy_v3", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next"),
        "step35",
    }
)
"""Those that hand over their final states: most of them behind the output norm, as their MTP layers read them."""
OUTPUT_ARCHITECTURES = frozenset({"deepseek4", "mimo2", "nemotron_h", "nemotron_h_moe"})
"""Those that hand over the output of their last layer, as if it were the input of another."""
MTP_ROW_ARCHITECTURES = frozenset(
    {
        *("bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "glm-dsa", "glm4moe", "hy_v3", "nemotron_h_moe"),
        *("qwen35", "qwen35moe", "qwen3next"),
    }
)
"""Those whose MTP layer hands over the rows that scores are made of, also where no scores are asked for."""
