"""A reward of env steps in other libraries' environments: Gymnasium's, one or vectorised, and stable-baselines3's VecEnv.

Imports neither library until one of its environments is given. Leaves out: rewards of text.
"""

from __future__ import annotations

import sys
from typing import Any

from guerdon.core.errors import UserError, require_extra
from guerdon.worlds.gymnasium_world import maker_of, registered, title_of
from guerdon.worlds.step_rewards import as_step_reward


def gym_reward(env: Any, reward: Any) -> Any:
    """An environment that pays by another reward: a `gymnasium.Wrapper`, a `gymnasium.vector.VectorWrapper` or a
    `VecEnvWrapper` of stable-baselines3, as `env` is of its kind.

    $r_t = \\sum_k r_{k,t}$ takes the place of the environment's own reward. `info` has `reward_parts`, the components by name,
    and `env_reward`, the environment's own. Of vectorised environments `reward_parts` has an array for each, as Gymnasium's
    `info` has, stable-baselines3's `infos` a mapping for each world. The last step of an episode is paid for what it led to,
    also where the next episode has begun; a step that only begins one (Gymnasium's `NEXT_STEP`) is paid 0 and is no step.

    A reward that raises, or is not finite, stops the training in a line with the environment, the step and the component:
    the trainers have no value for a missing reward.

    Args:
        env: a Gymnasium environment or id, FILE.py:NAME of a function that makes one, a vectorised environment of Gymnasium, or
            a VecEnv of stable-baselines3.
        reward: a function of `observation`, `action`, `next_observation`, `reward`, `terminated`, `truncated`, `info`, as
            `gd.worlds.step_reward` describes; or FILE.py:NAME of one.

    >>> import guerdon as gd
    >>> import gymnasium
    >>> def centred(next_observation, reward):
    ...     return {"own": reward, "centre": -abs(next_observation[0])}
    >>> env = gd.gym_reward(gymnasium.make("CartPole-v1"), centred)
    >>> _ = env.reset(seed=0)
    >>> _, pay, _, _, info = env.step(1)
    >>> round(pay, 3), {name: round(value, 3) for name, value in info["reward_parts"].items()}
    (0.987, {'own': 1.0, 'centre': -0.013})
    """
    wanted = as_step_reward(reward)
    if wanted is None:
        raise UserError("gym_reward needs a reward: a function of observation, action, next_observation and others")
    vec_env = sys.modules.get("stable_baselines3.common.vec_env.base_vec_env")  # loaded, where `env` is of it
    if vec_env is not None and isinstance(env, vec_env.VecEnv):
        from guerdon.bridges.sb3_env import RewardedVecEnv

        return RewardedVecEnv(env, wanted)
    try:
        import gymnasium
    except ImportError as error:
        raise require_extra("gymnasium", "control") from error
    from guerdon.bridges.gymnasium_envs import RewardedEnv, RewardedVectorEnv

    if isinstance(env, gymnasium.vector.VectorEnv):
        return RewardedVectorEnv(env, wanted)
    if isinstance(env, str):
        make = maker_of(env)
        env = registered(env, {}) if make is None else make()
    if not isinstance(env, gymnasium.Env):
        raise UserError(
            f"gym_reward takes an environment of Gymnasium, its id, or a VecEnv of stable-baselines3, not {title_of(env)}"
        )
    return RewardedEnv(env, wanted)
