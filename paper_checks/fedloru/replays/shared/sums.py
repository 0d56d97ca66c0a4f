"""Sums over the clients of a round, over local steps and over rounds.

They hold for any losses, weights and step sizes; no assumption of the paper is used.
"""
