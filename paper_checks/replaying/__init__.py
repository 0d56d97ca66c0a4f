"""Replays as text: their locations, scripts and arguments."""
