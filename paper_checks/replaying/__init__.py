"""Replays as text: their places, scripts and arguments."""
