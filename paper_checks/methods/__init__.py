"""The ways a claim can be tested, each written once: identity, inequality, limit, mean, probability, printed, units."""
