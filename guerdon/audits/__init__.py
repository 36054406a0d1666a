"""Findings about a reward, a reward model, scores or distances between rewards: what its owner would act on."""
