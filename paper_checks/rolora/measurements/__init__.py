"""Draws and runs that several results of RoLoRA are judged on."""
