"""Tables in plain text that follow each other without an empty line: none takes rows or headings of the one before."""

from paper_checks.inventory.plain_tables import find_blocks


def tables(text):
    """Return first and last line of each table, and the texts of its cells."""
    return [
        (block.start, block.end, [[cell.text for cell in row] for row in block.rows])
        for block in find_blocks(text.strip().splitlines())
    ]


BARS = "| a | b |\n|---|---|\n| x | 1 |\n"
SPACES = "K 5 10\nnorth 3 4\nsouth 5 6\n"


def test_numbers_between_spaces_after_bars_begin_with_their_own_heading():
    assert tables(BARS + SPACES) == [
        (0, 3, [["a", "b"], ["x", "1"]]),
        (3, 6, [["K", "5", "10"], ["north", "3", "4"], ["south", "5", "6"]]),
    ]


def test_a_heading_of_words_after_tabs_is_no_row_of_the_table_before():
    assert tables("a\tb\nx\t1\nhead two\nnorth 3 4\nsouth 5 6\n") == [
        (0, 2, [["a", "b"], ["x", "1"]]),
        (2, 5, [["", "head", "two"], ["north", "3", "4"], ["south", "5", "6"]]),
    ]


def test_without_a_heading_of_their_own_numbers_take_none_from_the_bars_before():
    assert tables(SPACES + BARS + "west 3 4\neast 5 6\n") == [
        (0, 3, [["K", "5", "10"], ["north", "3", "4"], ["south", "5", "6"]]),
        (3, 6, [["a", "b"], ["x", "1"]]),
        (6, 8, [["west", "3", "4"], ["east", "5", "6"]]),
    ]


def test_a_text_between_two_tables_belongs_to_the_second_alone():
    assert tables("north 3 4\nsouth 5 6\nsize many\nwest 7 8\neast 9 1\n") == [
        (0, 2, [["north", "3", "4"], ["south", "5", "6"]]),
        (2, 5, [["", "size", "many"], ["west", "7", "8"], ["east", "9", "1"]]),
    ]
