"""TRL trains with the tools of a game: a small random model, a tokenizer of its own, and scripted replies."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from boardwire.openenv import tools

pytest.importorskip("trl")

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import get_json_schema

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
#: How many calls each of the two replies of a group makes before it stops.
SCRIPTS = [3, 1]


def tokenizer_of(text: str) -> PreTrainedTokenizerFast:
    """Trains a tokenizer on a text, with the chat template of a model that TRL knows."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([text], trainer)
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)
    fast.chat_template = (Path(trl.__file__).parent / "chat_templates/qwen3.jinja").read_text()
    return fast


class ScriptedTrainer(trl.GRPOTrainer):
    """A trainer whose model writes scripted tool calls. Each reads its own prompt, as a model does."""

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> Any:
        replies = []
        for row, ids in enumerate(prompt_ids):
            text = self.processing_class.decode(ids)
            turns = text.count("Call the tool of one of these actions:")
            calls = re.findall(r"^- (\w+)\((\w+)\): ", text.rsplit("actions:", 1)[1], re.MULTILINE)
            name, value = calls[0]
            argument = {"choose": "region", "place": "sanctuary"}[name]
            call = json.dumps({"name": name, "arguments": {argument: value}})
            reply = "I stop." if turns > SCRIPTS[row % 2] else f"<tool_call>\n{call}\n</tool_call>"
            replies.append(self.processing_class(f"{reply}<|im_end|>", add_special_tokens=False)["input_ids"])
        return replies, None


def test_every_tool_has_a_schema_for_transformers() -> None:
    for game in ("faraway", "rauha", "golden_compass"):
        environment = tools(game)()
        for name, verb in environment.session.verbs.items():
            function = get_json_schema(getattr(environment, name))["function"]
            assert function["name"] == name
            assert list(function["parameters"]["properties"]) == ([verb.argument] if verb.argument else [])
            assert function["description"] == verb.description


def test_grpo_trains_with_the_tools_of_a_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = tools("faraway")()
    text = environment.reset(seed=1)
    tokenizer = tokenizer_of(text)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=32768,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    played: list[int] = []

    class Trainer(ScriptedTrainer):
        def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
            played[:] = [sum(message["role"] == "tool" for message in row) for row in completions]
            # The replies of a group need different rewards for a gradient.
            return super()._calculate_rewards(inputs, prompts, completions, ids) + torch.tensor([played]).T

    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    trainer = importlib.import_module("trl_grpo").trainer_of(
        Qwen3ForCausalLM(config),
        "faraway",
        deals=2,
        trainer=Trainer,
        processing_class=tokenizer,
        output_dir=str(tmp_path),
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=16384,
        max_steps=1,
        learning_rate=0.01,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        bf16=False,
    )
    before = trainer.model.lm_head.weight.detach().clone()
    trainer.train()
    logged = {name: value for entry in trainer.state.log_history for name, value in entry.items()}
    assert sorted(played) == sorted(SCRIPTS)
    # Both left their episodes, which counts as the last place: -1.
    assert logged["rewards/FarawayTools/mean"] == sum(SCRIPTS) / 2 - 1
    assert logged["tools/failure_frequency"] == 0
    assert not torch.equal(trainer.model.lm_head.weight, before)
