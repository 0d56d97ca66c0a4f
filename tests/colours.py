"""Contrast of colours, by the rule of the Web Content Accessibility Guidelines."""

LEAST = 4.5
"""Contrast that text needs."""


def contrast(one, other):
    """Return the contrast of two colours such as ``#1c1f24``."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
