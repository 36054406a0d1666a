"""Fused GPU kernels for decoders, in Triton: norms, gates, rotation, paged attention, sampling and scoring.

Every module here imports triton at its top, and this file imports none of them: only code that runs on a GPU may, where it
does. All take bfloat16, float16 or float32 and add up in float32; none asks the GPU anything, so all can be recorded in a
CUDA graph. Left out: matrix products (torch's are the fastest there are) and attention over whole sequences.
"""
