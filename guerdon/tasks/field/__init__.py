"""Tasks of the field: libraries' and benchmarks' problems, and generated ones whose answers are programs, queries or JSON."""
