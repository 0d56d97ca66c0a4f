"""The claims of RoLoRA, one module per theme in the order of the paper."""
