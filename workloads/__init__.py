"""Real data sets and the small networks trained on them.

`workloads.data.datasets` needs numpy only; torch is imported with `workloads.image_networks.small` and
`workloads.image_networks.fit`.
"""
