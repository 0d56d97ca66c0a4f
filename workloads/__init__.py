"""Real data sets and the small networks trained on them.

`workloads.datasets` needs numpy only; torch is imported with `workloads.networks` and `workloads.fit`.
"""
