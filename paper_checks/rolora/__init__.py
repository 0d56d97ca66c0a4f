"""The claims of RoLoRA, one module per result."""
