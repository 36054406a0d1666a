"""What a learner minimises, term by term: `clipped() + kl(0.04)`."""

from guerdon.losses.critic import value as value
from guerdon.losses.distillation import distilled as distilled
from guerdon.losses.imitation import advantage_weighted as advantage_weighted
from guerdon.losses.imitation import sft as sft
from guerdon.losses.kl_in_reward import kl_cost as kl_cost
from guerdon.losses.old_policy import masked as masked
from guerdon.losses.old_policy import sampled as sampled
from guerdon.losses.old_policy import truncated as truncated
from guerdon.losses.pair import better_nll as better_nll
from guerdon.losses.pair import dpo as dpo
from guerdon.losses.pair import odds_ratio as odds_ratio
from guerdon.losses.penalties import entropy as entropy
from guerdon.losses.penalties import kl as kl
from guerdon.losses.policy import PolicyLoss as PolicyLoss
from guerdon.losses.policy import clipped as clipped
from guerdon.losses.policy import reweighted as reweighted
from guerdon.losses.reward_modelling import bradley_terry as bradley_terry
from guerdon.losses.reward_modelling import implicit_outcome as implicit_outcome
from guerdon.losses.reward_modelling import outcome as outcome
from guerdon.losses.reward_modelling import step_labels as step_labels
from guerdon.losses.row_weights import weighed as weighed
from guerdon.losses.signs import by_sign as by_sign
from guerdon.losses.signs import finished as finished
from guerdon.losses.terms import Term as Term
from guerdon.losses.unpaired import kto as kto
from guerdon.losses.unpaired import mismatched_kl as mismatched_kl
