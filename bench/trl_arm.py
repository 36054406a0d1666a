"""TRL's GRPOTrainer as one arm of the benchmark: `python -m bench.trl_arm --config cpu --model DIR --steps 4`.

The trainer runs as it is; its own methods are wrapped to read the clock. Set up as fast as its options allow: no
logging, saving or evaluation, the whole batch in one forward pass where it fits, no gradient checkpointing, no padding
beyond the longest prompt, and no end tokens to look for. Left out: vLLM and Liger, which bring kernels of their own.
"""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bench.arm import Job, parse
from bench.clock import Clock, Report, peak_bytes
from bench.configs import GRADIENT_CLIP, LEARNING_RATE, RATIO_CLIP, SEED
from bench.problems import digest, digit_share, rendered, texts

NO_TOKEN = -1  # an id no tokenizer gives


class TimedTrainer(GRPOTrainer):
    """A step is: fetching prompts (other), `_generate` (generate), the rest of `_generate_and_score_completions`, which
    is rewards, advantages and padding (score), then forward, backward and the optimiser (learn)."""

    clock: Clock
    prompts_seen: list[list[int]]
    tokens_made: list[int]
    rewards_seen: list[float]

    def _generate(self, prompts: list[Any]) -> Any:
        self.clock.lap("other")
        made = super()._generate(prompts)
        self.clock.lap("generate")
        prompt_ids, completion_ids = made[0], made[1]
        self.prompts_seen += prompt_ids
        self.tokens_made.append(sum(map(len, completion_ids)))
        self.clock.skip()
        return made

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> Any:
        made = super()._generate_and_score_completions(inputs)
        self.clock.lap("score")
        self.rewards_seen.append(self._metrics["train"]["reward"][-1])
        self.clock.skip()
        return made


class StepEnd(TrainerCallback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.clock.restart()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self.clock.lap("learn")
        self.clock.end_step()


def settings(job: Job, folder: str) -> GRPOConfig:
    config = job.config
    rows = config.trl_rows or config.rollouts
    return GRPOConfig(
        output_dir=folder,
        max_steps=job.warmup + job.steps,
        per_device_train_batch_size=rows,
        gradient_accumulation_steps=config.rollouts // rows,
        num_generations=config.tries,
        max_completion_length=config.new_tokens,
        generation_kwargs={"eos_token_id": None},
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        num_iterations=1,
        beta=0.0,
        epsilon=RATIO_CLIP,
        loss_type="grpo",
        scale_rewards="group",
        learning_rate=LEARNING_RATE,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        max_grad_norm=GRADIENT_CLIP,
        shuffle_dataset=False,
        disable_dropout=True,
        gradient_checkpointing=False,
        bf16=False,  # no autocast: the weights themselves are of the configured type
        use_cpu=config.device == "cpu",
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
        report_to="none",
        logging_strategy="no",
        logging_nan_inf_filter=False,
        save_strategy="no",
        disable_tqdm=True,
        seed=SEED,
        **job.trl_options,
    )


def reward(completions: list[str], **_: Any) -> list[float]:
    return [digit_share(text) for text in completions]


def run(job: Job) -> Report:
    config = job.config
    clock = Clock(config.device)
    prompts = texts(config, config.prompts * (job.warmup + job.steps))
    tokenizer = AutoTokenizer.from_pretrained(job.model, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(
        job.model, dtype=getattr(torch, config.dtype), attn_implementation="sdpa"
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = TimedTrainer(
            model=model,
            reward_funcs=reward,
            args=settings(job, folder),
            train_dataset=Dataset.from_dict({"prompt": [rendered(text) for text in prompts]}),
            processing_class=tokenizer,
            callbacks=[StepEnd(clock)],
        )
        trainer.eos_token_ids = [NO_TOKEN]  # a sampled end token is a token like any other: nothing is cut after it
        trainer.clock, trainer.prompts_seen, trainer.tokens_made, trainer.rewards_seen = clock, [], [], []
        trainer.train()
    return Report(
        arm="trl",
        steps=clock.steps[job.warmup :],
        warmup=clock.steps[: job.warmup],
        tokens=job.checked_tokens(trainer.tokens_made),
        prompt_tokens=sum(map(len, trainer.prompts_seen)) / len(trainer.prompts_seen),
        prompts=digest(trainer.prompts_seen),
        reward=trainer.rewards_seen,
        peak_bytes=peak_bytes(config.device),
    )


if __name__ == "__main__":
    run(parse()).print()
