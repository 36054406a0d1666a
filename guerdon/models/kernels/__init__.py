"""Fused GPU kernels for decoders, in Triton: norms, gates, rotation, paged attention, sampling and scoring.

Every module here imports triton at its top, and this file imports none of them:
only code that runs on a GPU may, where it does.
All take bfloat16, float16 or float32 and add up in float32; none asks the GPU anything,
so all can be recorded in a CUDA graph.
Leaves out: matrix products (torch's are the fastest there are) and attention over whole sequences.

Layouts: what is read may lie in any way and is copied where a kernel must have it side by side, gradients too;
what is written in place or is too large to copy is refused unless it lies side by side.
Each function says which is which.
No rows are no work.
`tests/models/test_kernel_contract.py` holds all of them to this.
"""
