"""Earlier versions, Section 3.1: limits for a general law of the noise."""
