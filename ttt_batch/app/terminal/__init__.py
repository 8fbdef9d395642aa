"""A person's games against an agent in the terminal, on any board.

    keys      what was typed, as a cell or a command
    drawing   a board as lines of text;  hints: values and truth over it
    faces     what shows and asks, and what it is told
    loop      rules, score, lessons, records and reviews, for any face
    plain     a face of lines: prompts and answers, also through pipes
    view      a face for a screen, as data;  screen: shows it on a real terminal, by single keys

Cells and lines go by the board alone, so an agent may know as few positions as it likes.
"""

from ttt_batch.app.keyboard import Command
from ttt_batch.app.terminal.drawing import NARROW, WIDEST, draw_board, draw_grid, draw_replay
from ttt_batch.app.terminal.faces import Face, Question, Result, Score
from ttt_batch.app.terminal.hints import Hints, draw_hints, hints_of
from ttt_batch.app.terminal.keys import MAX_DIGIT_CELLS, draw_help, read_again, read_entry
from ttt_batch.app.terminal.loop import Pupil, play_game, play_games
from ttt_batch.app.terminal.playing import play

__all__ = [
    "MAX_DIGIT_CELLS",
    "NARROW",
    "WIDEST",
    "Command",
    "Face",
    "Hints",
    "Pupil",
    "Question",
    "Result",
    "Score",
    "draw_board",
    "draw_grid",
    "draw_help",
    "draw_hints",
    "draw_replay",
    "hints_of",
    "play",
    "play_game",
    "play_games",
    "read_again",
    "read_entry",
]
