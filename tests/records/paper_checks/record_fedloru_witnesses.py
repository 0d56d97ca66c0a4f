"""Records of the replayed witnesses of FedLoRU: both sides, the assumptions, the set-up, and how to read them."""

from witnesses_shown import witnesses_shown


def witnesses_of_the_first_version():
    return witnesses_shown("fedloru", "fedloru-v1")


def witnesses_of_the_conference_version():
    return witnesses_shown("fedloru", "fedloru-iclr")


def witnesses_of_equations():
    return witnesses_shown("fedloru", "fedloru-v2", "eq")


def witnesses_of_results_and_text():
    return witnesses_shown("fedloru", "fedloru-v2", without=("eq",))
