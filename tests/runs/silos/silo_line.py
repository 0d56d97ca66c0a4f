"""Silos in this process: letters go to them by hand, and a test may change an answer on its way."""

from itertools import count

from runs.silos.node import Node


class Beside:
    """A line to silos in the server's process.

    Attributes:
        silos: Silos by the number of their node.
        change: Function that alters an answer, given the node and its letters: to a letter, an error in words, or none.
    """

    def __init__(self, silos, change=lambda node, request, letter: letter):
        self.silos, self.change = dict(silos), change
        self.sent, self._answers, self._tickets = [], {}, count()

    def nodes(self):
        return list(self.silos)

    def send(self, node, letter, seconds):
        if node not in self.silos:
            return None
        ticket = str(next(self._tickets))
        self.sent.append((node, letter))
        answer = self.change(node, letter, self.silos[node].answer(letter))
        if answer is not None:
            self._answers[ticket] = answer
        return ticket

    def receive(self, tickets):
        for ticket in list(tickets):
            if ticket in self._answers:
                yield ticket, self._answers.pop(ticket)


def silos_of(clients, names, folder):
    return {100 + place: Node(name, clients[place], folder / name) for place, name in reversed(list(enumerate(names)))}
