"""Reward functions in processes of their own: whatever they do, the run continues and every other score is kept.

The design, and the reasons for it, are in docs/workers.md. From the caller to the call:

- `worker_pool`: what callers use, `shared_pool().call(function, arguments, timeout=...)`.
- `dispatcher`: the thread that gives out calls, takes results, keeps deadlines and finds who is to blame.
- `bookkeeping`: what that thread keeps account of: jobs, workers, their template.
- `carry`: a function and its arguments as bytes.
- `wire`: the messages between the processes, and their seals.
- `template_process`: the process that forks workers.
- `worker`: the process that calls the function.
- `foreign_code`, `seeded_calls`, `processes`, `call_meter`: what workers and dispatcher stand on.
- `plain_result`: a function as boxes of the sandbox call it, beside `seeded_calls`.
"""
