"""One run over several processes and machines. What holds, and what was never run, is in docs/scale.md.

- `hiring`: where the run gets its workers from.
- `crew`: what a player asks: asks are cut into jobs, jobs go to workers, and what a worker loses is played again.
- `job`: what travels: jobs, their answers, and the weights of a version.
- `station`: the other end: it builds the run and plays jobs.
- `local`: workers as processes of this machine.
- `on_ray`: workers as actors of Ray, an extra.

Nothing here is imported by a run without workers.
"""
