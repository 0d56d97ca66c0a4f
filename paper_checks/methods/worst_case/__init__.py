r"""Worst cases of recursions of local steps, over all client functions of a class (performance estimation).

A problem (`problem`) asks for the largest value of a quantity, such as the change of the mean loss in one round, over
all clients whose functions are smooth. Gradients and points enter by their inner products only, so it is a
semidefinite program (`sdp`); its dual multipliers, rounded to fractions or in closed form (`closed_form`), are
certificates that need no solver (`certificate`, `exact`); its primal solution is a worst function, which real
algorithms can be run on (`worst_function`).

Client functions may be exchanged, so it is enough to know the mean of the clients' vectors and their spread around
it. The program has two small blocks for any number of clients: its value is the same for any number above one.
"""
