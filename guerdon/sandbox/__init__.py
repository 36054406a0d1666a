"""Boxes for code that nobody trusts: programs, SQL and unit tests, with limits on all they use and no way out.

From the caller to the program:

- `run_now`, `sandbox_pool`, `probed_guarantees`: what callers use; `shared_questions`: the same for many questions at once.
- `limits`, `ran_program`, `box_requests`: what is asked, what may be used, and what came of it.
- `zygote_handle`, `zygote`, `fork_hooks`: a warm interpreter inside namespaces, seen from outside and from inside.
- `boxed_root`: those namespaces, and a root with nothing of the user's in it.
- `box_init`, `box_processes`, `counted_calls`: the first process of a box, which watches limits; `control_groups`: the
  kernel's own, where the machine has them.
- `boxed_program`, `boxed_limits`, `unit_tests`, `changed_arguments`, `boxed_sql`: what runs in it.
- `seccomp_filter`, `syscall_numbers`, `kernel_calls`, `plain_data`: what they stand on.
"""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
