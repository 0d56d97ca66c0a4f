"""Statements on aggregation and cost in abstracts of four papers on federated LoRA."""
