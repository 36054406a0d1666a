"""Boxes for code that nobody trusts: programs, SQL and unit tests, with limits on all they use and no way out."""

from guerdon.sandbox.limits import Limits as Limits
from guerdon.sandbox.probed_guarantees import Guarantee as Guarantee
from guerdon.sandbox.probed_guarantees import guarantees as guarantees
from guerdon.sandbox.ran_program import Cause as Cause
from guerdon.sandbox.ran_program import Ran as Ran
from guerdon.sandbox.run_now import check_python as check_python
from guerdon.sandbox.run_now import run_program as run_program
from guerdon.sandbox.run_now import run_python as run_python
from guerdon.sandbox.run_now import run_sql as run_sql
from guerdon.sandbox.sandbox_pool import SandboxPool as SandboxPool
from guerdon.sandbox.sandbox_pool import shared_sandbox as shared_sandbox
