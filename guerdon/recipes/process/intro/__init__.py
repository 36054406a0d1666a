"""InTRO: tokens weighed by what the answer makes of them."""
