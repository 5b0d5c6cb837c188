"""Which of the candidate assertions to keep: exact, by integer programming (SPADE, section 4).

``select`` chooses from a ``SelectionProblem``; ``read_problem`` reads one from a file.
"""
