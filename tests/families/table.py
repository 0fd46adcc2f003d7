"""The families and the drafters that `test_families.py` plays against each other, and README.md shows.

Each family states the way that it must take. What falls back to recomputing would pass every comparison, so that a way
is the stated one is a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
import transformers as hf
from tokenizers import Tokenizer, models

import specviz as sv
from specviz.drafters.base import Draft
from specviz.models.hf import HFModel, model_class
from specviz.models.vocabulary import Vocabulary

SIZE = 64  # tokens of the vocabulary
WINDOW = 8  # of a sliding window; the texts are longer
LENGTH = 96  # of the context

SMALL = {
    "vocab_size": SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": LENGTH,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WIDE = {**SMALL, "intermediate_size": 64}
GROUPED = {**WIDE, "num_key_value_heads": 2}
HEADS = {**GROUPED, "head_dim": 8}
SLIDING = {"sliding_window": WINDOW}
MIXED = {**SLIDING, "layer_types": ["sliding_attention", "full_attention"]}
GPT = {"vocab_size": SIZE, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": LENGTH, "eos_token_id": 2}
FEW = {"num_local_experts": 4, "num_experts_per_tok": 2}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
ROUTED = {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
DEEPSEEK = {**GROUPED, **LATENT, **ROUTED, "num_key_value_heads": 4, "first_k_dense_replace": 1, "topk_group": 1}
STATE = {"vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "eos_token_id": 2}
SCAN = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_chunk_size": WINDOW}
ENDS = {"vocab_size": SIZE, "pad_token_id": 0, "eos_token_id": 2}
CODED = {**ENDS, "d_model": 32, "decoder_start_token_id": 0}
T5 = {**CODED, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
BART = {
    **CODED,
    **{f"{half}_{part}": n for half in ("encoder", "decoder") for part, n in (("attention_heads", 4), ("ffn_dim", 64))},
    "encoder_layers": 2,
    "decoder_layers": 3,
    "max_position_embeddings": LENGTH,
}
EYES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
EYES |= {"image_size": 16, "patch_size": 8}
HALVES = ["linear_attention", "full_attention"]
LINEAR = {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4}
ANGLES = {"rope_theta": 10000.0, "short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
LONGROPE = {
    "original_max_position_embeddings": LENGTH // 2,
    "rope_parameters": {"rope_type": "longrope", **ANGLES},
}

LEAN = ("lean", "rolls back")  # our own forward pass
BACK = ("rolls back", "positions")  # the cache is cropped, and positions are given
OWN = ("rolls back",)  # the cache is cropped, and the model counts positions itself
AGAIN = ("positions",)  # the text is fed again at each call
AGAIN_OWN = ()


class Family(NamedTuple):
    """config: makes the configuration. has: what is particular. way: what the checked model must do.

    refused: the sentence that refuses it, less its end.
    """

    config: Callable[[], hf.PreTrainedConfig]
    has: str
    way: tuple[str, ...] = BACK
    refused: str = ""


SEES_LATER = "lets a token see those after it, so it is no decoder"
FAMILIES = {
    "Llama": Family(lambda: hf.LlamaConfig(**GROUPED), "RoPE, grouped queries", LEAN),
    "Llama with biases": Family(lambda: hf.LlamaConfig(**GROUPED, attention_bias=True), "RoPE, grouped queries"),
    "Mistral": Family(lambda: hf.MistralConfig(**GROUPED, **SLIDING), "sliding window"),
    "Mixtral": Family(lambda: hf.MixtralConfig(**GROUPED, **FEW), "mixture of experts"),
    "Qwen2, Qwen2.5": Family(lambda: hf.Qwen2Config(**GROUPED), "RoPE, grouped queries"),
    "Qwen2 with windows": Family(
        lambda: hf.Qwen2Config(**GROUPED, use_sliding_window=True, max_window_layers=1, **SLIDING), "window in a layer"
    ),
    "Qwen2-MoE": Family(
        lambda: hf.Qwen2MoeConfig(**GROUPED, **EXPERTS, shared_expert_intermediate_size=32), "mixture of experts"
    ),
    "Qwen3": Family(lambda: hf.Qwen3Config(**HEADS), "RoPE, grouped queries"),
    "Qwen3-MoE": Family(lambda: hf.Qwen3MoeConfig(**HEADS, **EXPERTS), "mixture of experts"),
    "Gemma": Family(lambda: hf.GemmaConfig(**{**HEADS, "num_key_value_heads": 1}), "one key head"),
    "Gemma 2": Family(lambda: hf.Gemma2Config(**HEADS, **SLIDING, query_pre_attn_scalar=8), "windows, capped logits"),
    "Gemma 3": Family(lambda: hf.Gemma3TextConfig(**HEADS, **MIXED, query_pre_attn_scalar=8), "windows, two RoPEs"),
    "Gemma 3 with eyes": Family(
        lambda: hf.Gemma3Config(
            text_config={**HEADS, **MIXED, "query_pre_attn_scalar": 8}, vision_config=EYES, mm_tokens_per_image=4
        ),
        "windows, a part that sees",
    ),
    "Gemma 3n": Family(
        lambda: hf.Gemma3nTextConfig(
            **{**HEADS, **SLIDING, "num_hidden_layers": 6},
            layer_types=["sliding_attention", "full_attention"] * 3,
            num_kv_shared_layers=2,
            activation_sparsity_pattern=[0.0] * 6,
            vocab_size_per_layer_input=SIZE,
            hidden_size_per_layer_input=8,
            laurel_rank=4,
        ),
        "windows, shared keys",
    ),
    "Gemma 4": Family(lambda: hf.Gemma4TextConfig(**HEADS, **MIXED), "windows, two RoPEs"),
    "Phi": Family(lambda: hf.PhiConfig(**GROUPED), "RoPE on half a head"),
    "Phi-3": Family(lambda: hf.Phi3Config(**GROUPED, **SLIDING), "sliding window"),
    "Phi-3 with longrope": Family(lambda: hf.Phi3Config(**GROUPED, **LONGROPE), "to its first context"),
    "StableLM": Family(lambda: hf.StableLmConfig(**GROUPED), "RoPE on a quarter"),
    "SmolLM3": Family(lambda: hf.SmolLM3Config(**GROUPED, no_rope_layers=[1, 0]), "a layer without positions"),
    "OLMo 2": Family(lambda: hf.Olmo2Config(**GROUPED), "RoPE, grouped queries"),
    "OLMo 3": Family(lambda: hf.Olmo3Config(**GROUPED, **MIXED), "windows"),
    "Cohere": Family(lambda: hf.CohereConfig(**GROUPED, logit_scale=1.0), "RoPE, grouped queries"),
    "Cohere 2": Family(lambda: hf.Cohere2Config(**HEADS, **MIXED, logit_scale=1.0), "windows"),
    "gpt-oss": Family(lambda: hf.GptOssConfig(**HEADS, **FEW, **MIXED), "windows, sinks, experts"),
    "Llama 4": Family(
        lambda: hf.Llama4TextConfig(
            **HEADS,
            intermediate_size_mlp=64,
            num_local_experts=2,
            num_experts_per_tok=1,
            interleave_moe_layer_step=2,
            attention_chunk_size=WINDOW,
            layer_types=["chunked_attention", "full_attention"],
        ),
        "chunks, experts",
    ),
    "Granite": Family(lambda: hf.GraniteConfig(**GROUPED), "RoPE, grouped queries"),
    "GLM-4": Family(lambda: hf.Glm4Config(**HEADS), "RoPE on half a head"),
    "EXAONE 4": Family(lambda: hf.Exaone4Config(**HEADS, **MIXED), "windows"),
    "Nemotron": Family(lambda: hf.NemotronConfig(**GROUPED), "RoPE on half a head"),
    "DeepSeek-V2": Family(
        lambda: hf.DeepseekV2Config(**DEEPSEEK, n_group=1, topk_method="greedy"), "latent attention, experts"
    ),
    "DeepSeek-V3": Family(lambda: hf.DeepseekV3Config(**DEEPSEEK, n_group=2), "latent attention, experts"),
    "GPT-2": Family(lambda: hf.GPT2Config(**GPT), "learned positions"),
    "GPT-Neo": Family(
        lambda: hf.GPTNeoConfig(
            **ENDS,
            hidden_size=32,
            num_layers=2,
            num_heads=4,
            intermediate_size=64,
            window_size=WINDOW,
            max_position_embeddings=LENGTH,
            attention_types=[[["global", "local"], 1]],
        ),
        "learned positions, window",
    ),
    "GPT-J": Family(lambda: hf.GPTJConfig(**GPT, rotary_dim=4), "RoPE on half a head"),
    "Pythia (GPT-NeoX)": Family(lambda: hf.GPTNeoXConfig(**WIDE), "RoPE on a quarter"),
    "StarCoder (GPT-BigCode)": Family(
        lambda: hf.GPTBigCodeConfig(**GPT, multi_query=True), "one key head, learned positions"
    ),
    "StarCoder 2": Family(lambda: hf.Starcoder2Config(**GROUPED, **SLIDING), "sliding window"),
    "OPT": Family(lambda: hf.OPTConfig(**SMALL, ffn_dim=64, word_embed_proj_dim=32), "learned positions"),
    "BLOOM": Family(lambda: hf.BloomConfig(**ENDS, hidden_size=32, n_layer=2, n_head=4), "ALiBi", OWN),
    "MPT": Family(lambda: hf.MptConfig(**ENDS, d_model=32, n_layers=2, n_heads=4, max_seq_len=LENGTH), "ALiBi", OWN),
    "Falcon": Family(lambda: hf.FalconConfig(**SMALL), "one key head, RoPE"),
    "Falcon with ALiBi": Family(lambda: hf.FalconConfig(**SMALL, alibi=True), "one key head, ALiBi"),
    "RoBERTa as a decoder": Family(
        lambda: hf.RobertaConfig(**WIDE, is_decoder=True), "positions from its padding on", OWN
    ),
    "GPT-1": Family(lambda: hf.OpenAIGPTConfig(**GPT), "no cache", AGAIN),
    "Mamba": Family(lambda: hf.MambaConfig(**STATE), "state", AGAIN_OWN),
    "Mamba 2": Family(
        lambda: hf.Mamba2Config(**STATE, num_heads=8, head_dim=8, n_groups=1, chunk_size=WINDOW), "state", AGAIN_OWN
    ),
    "FalconMamba": Family(lambda: hf.FalconMambaConfig(**STATE), "state", AGAIN_OWN),
    "RWKV": Family(
        lambda: hf.RwkvConfig(**ENDS, hidden_size=32, num_hidden_layers=2, context_length=LENGTH), "state", AGAIN_OWN
    ),
    "xLSTM": Family(
        lambda: hf.xLSTMConfig(**ENDS, hidden_size=32, num_heads=4, num_hidden_layers=2), "state", AGAIN_OWN
    ),
    "Jamba": Family(
        lambda: hf.JambaConfig(
            **GROUPED,
            attn_layer_period=2,
            attn_layer_offset=1,
            num_experts=2,
            num_experts_per_tok=1,
            mamba_d_state=8,
            use_mamba_kernels=False,
        ),
        "attention and state",
        AGAIN,
    ),
    "Zamba 2": Family(
        lambda: hf.Zamba2Config(
            **{**WIDE, "num_hidden_layers": 3},
            num_key_value_heads=4,
            mamba_d_state=8,
            n_mamba_heads=8,
            mamba_headdim=8,
            mamba_ngroups=1,
            chunk_size=WINDOW,
            layers_block_type=["mamba", "hybrid", "mamba"],
            num_mem_blocks=1,
            use_mem_rope=True,
            use_mamba_kernels=False,
        ),
        "attention and state",
        AGAIN,
    ),
    "Falcon-H1": Family(lambda: hf.FalconH1Config(**GROUPED, **SCAN, mamba_d_ssm=64), "attention and state", AGAIN),
    "Qwen3-Next": Family(
        lambda: hf.Qwen3NextConfig(
            **HEADS, **EXPERTS, **LINEAR, shared_expert_intermediate_size=32, layer_types=HALVES
        ),
        "attention and state",
        AGAIN,
    ),
    "Qwen3.5": Family(
        lambda: hf.Qwen3_5TextConfig(**HEADS, **LINEAR, layer_types=HALVES), "attention and state", AGAIN
    ),
    "Bamba": Family(lambda: hf.BambaConfig(**GROUPED, **SCAN, attn_layer_indices=[1]), "attention and state", AGAIN),
    "Granite 4 (hybrid)": Family(
        lambda: hf.GraniteMoeHybridConfig(
            **GROUPED,
            **SCAN,
            num_local_experts=2,
            num_experts_per_tok=1,
            shared_intermediate_size=32,
            layer_types=["mamba", "attention"],
        ),
        "attention and state",
        AGAIN,
    ),
    "MiniMax": Family(
        lambda: hf.MiniMaxConfig(
            **HEADS,
            num_local_experts=2,
            num_experts_per_tok=1,
            block_size=WINDOW,
            layer_types=HALVES,
        ),
        "attention and state",
        AGAIN,
    ),
    "LFM2": Family(
        lambda: hf.Lfm2Config(**GROUPED, layer_types=["conv", "full_attention"], block_multiple_of=8),
        "attention and state",
        AGAIN,
    ),
    "RecurrentGemma": Family(
        lambda: hf.RecurrentGemmaConfig(
            **ENDS,
            hidden_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=64,
            lru_width=32,
            attention_window_size=WINDOW,
            block_types=("recurrent", "recurrent", "attention"),
        ),
        "state, kept in the model",
        AGAIN,
    ),
    "T5": Family(lambda: hf.T5Config(**T5), "encoder and decoder", OWN),
    "T5 v1.1 (gated)": Family(
        lambda: hf.T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), "encoder and decoder", OWN
    ),
    "T5Gemma": Family(
        lambda: hf.T5GemmaConfig(encoder={**HEADS, **MIXED}, decoder={**HEADS, **MIXED}),
        "encoder, decoder, windows",
        OWN,
    ),
    "BART": Family(lambda: hf.BartConfig(**BART, bos_token_id=1), "encoder and decoder", OWN),
    "Marian": Family(lambda: hf.MarianConfig(**BART), "encoder and decoder", OWN),
    "BERT": Family(lambda: hf.BertConfig(**WIDE), "no decoder", refused=SEES_LATER),
    "XLNet": Family(
        lambda: hf.XLNetConfig(**ENDS, d_model=32, n_layer=2, n_head=4, d_inner=64), "no decoder", refused=SEES_LATER
    ),
}
PLAYED = [name for name, family in FAMILIES.items() if not family.refused]

# By name, what a pair of this target drafts with. near: the target with other weights close by, as another model.
DRAFTERS: dict[str, Callable[[HFModel], sv.Model | Draft]] = {
    "another model": lambda near: near,
    "prompt lookup": lambda _: sv.PromptLookup(),
    "skipped layers": lambda _: sv.SkippedLayers([1]),
    "uniform": lambda _: sv.UniformDraft(),
    "early stop, adaptive": lambda near: sv.AdaptiveLength(sv.EarlyStop(near, 0.1), 1),
}


@cache
def vocabulary() -> Vocabulary:
    words = Tokenizer(models.WordLevel({f"<{i}>": i for i in range(SIZE)}, unk_token="<0>"))
    return Vocabulary(hf.PreTrainedTokenizerFast(tokenizer_object=words))


def random_model(config: hf.PreTrainedConfig, noise: float = 0.0) -> hf.PreTrainedModel:
    """One with laws sharp enough that its best token is no tie. noise: added to its weights, in their own spread."""
    torch.manual_seed(0)
    model = model_class(config).auto.from_config(config).float().eval()
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    with torch.no_grad():
        for weight in matrices:
            weight.mul_(6)
        for weight in matrices if noise else ():
            weight.add_(noise * weight.std() * torch.randn_like(weight))
    return model


@cache
@torch.inference_mode(False)  # whoever asks first: weights made in that mode could not be watched for changes
def built(name: str, noise: float = 0.0) -> HFModel:
    """The family's random model, checked as at every loading."""
    model = random_model(FAMILIES[name].config(), noise)
    return model_class(model.config)(model, vocabulary(), f"{name}, near by" if noise else name)
