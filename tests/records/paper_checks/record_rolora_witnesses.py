"""Records of the replayed witnesses of RoLoRA: both sides, the assumptions, the set-up, and how to read them."""

from witnesses_shown import witnesses_shown


def witnesses_of_equations():
    return witnesses_shown("rolora", "rolora", "eq")


def witnesses_of_results():
    return witnesses_shown("rolora", "rolora", without=("eq", "table", "txt"))


def witnesses_of_tables_and_text():
    return witnesses_shown("rolora", "rolora", "table", "txt")
