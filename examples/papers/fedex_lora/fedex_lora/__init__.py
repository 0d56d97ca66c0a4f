"""FedEx-LoRA (Singhal, Ponkshe and Vepakomma, ACL 2025): exact aggregation, and what its residual costs."""
