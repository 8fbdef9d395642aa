"""A person's games against an agent in the terminal, on any board.

    keys      what was typed, as a cell or a command
    drawing   a board as lines of text;  hints: values and truth over it
    faces     what shows and asks, and what it is given
    loop      rules, score, learning, records and reviews, for any face
    plain     a face of lines: prompts and answers, also through pipes
    view      a face for a screen, as data;  screen: shows it on a real terminal, by single keys

Cells and lines depend on the board alone, so an agent may know as few positions as it likes.
"""
