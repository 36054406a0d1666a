#!/usr/bin/env bash
# A real model learns: taught on worked solutions, then by GRPO; docs/a_real_model.md tells what came of it.
#   bash examples/gsm8k.sh MODEL DATA [RUNS]
# MODEL: a folder with SmolLM2-135M-Instruct, or its id on the hub. DATA: GSM8K's training split, JSON lines of `question` and `answer`.
# On one H200 it takes about five minutes. Nothing below is special to this model or these problems.
set -euo pipefail
model=$1 runs=${3:-runs/gsm8k}
rows=(--data "$2" --held-out 0.16 --check number) # 1,196 problems are never trained on
exam=(--eval-tasks 1196 --eval-tries 4 --rollouts-every 25 --save-every 1000)

guerdon train sft "${rows[@]}" "${exam[@]}" --model "$model" --set lm.lora=64 --set lm.dtype=bfloat16 \
  --set prompts=64 --set lr="warmup(linear(2e-3, 0), 20)" --set max_tokens=256 --steps 300 --out "$runs/taught"

guerdon train grpo "${rows[@]}" "${exam[@]}" --model "$runs/taught" \
  --set prompts=64 --set tries=8 --set lr="linear(2e-4, 0)" --set max_tokens=256 --steps 80 --out "$runs/reinforced"

for what in "$model" "$runs/taught" "$runs/reinforced"; do
  guerdon eval "$what" "${rows[@]}" --tasks 1196 --greedy --max-tokens 256
done
guerdon compare "$runs/taught" "$runs/reinforced"
