"""What abstracts of four papers on federated LoRA say about aggregation and cost."""
