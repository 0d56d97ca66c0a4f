"""Records of the replayed witnesses of FeDLRT: both sides, the assumptions, the set-up, and how to read them."""

from witnesses_shown import witnesses_shown


def witnesses_of_equations():
    return witnesses_shown("fedlrt", "fedlrt", "eq")


def witnesses_of_results_and_text():
    return witnesses_shown("fedlrt", "fedlrt", without=("eq",))
