"""Figures of RoLoRA."""
