"""Games of a person against an agent in the terminal, on any board.

keys      typed keys and words as cells and commands
drawing   boards as lines of text, with values and exact results
faces     questions, results and the score, and the face of plain lines, also through pipes
screen    the face of a whole terminal with single keys
loop      rules, score, learning, records and reviews, for any face
"""
