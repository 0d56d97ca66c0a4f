"""Federations whose clients run on other people's machines: messages, answers, and Flower as the carrier."""
