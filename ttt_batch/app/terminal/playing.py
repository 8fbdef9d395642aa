"""Play on a pair of streams: on the screen of a real terminal, by plain lines elsewhere."""

import random
from collections.abc import Callable, Sequence
from typing import TextIO

from ttt_batch.analysis.handicap import HandicappedAgent
from ttt_batch.analysis.meetings import seats_of
from ttt_batch.app.terminal.faces import Face, Score, Session
from ttt_batch.app.terminal.hints import query_once
from ttt_batch.app.terminal.loop import LearningAgent, play_person_games
from ttt_batch.app.terminal.plain import Plain
from ttt_batch.app.terminal.screen import has_screen, play_on_screen
from ttt_batch.app.terminal.view import ScreenFace
from ttt_batch.base.choices import SEATS, Ties, check_ties, choose_person
from ttt_batch.base.console import wants_colour
from ttt_batch.base.errors import UsageError, flag
from ttt_batch.base.quantities import Number
from ttt_batch.evaluation.ties import default_ties
from ttt_batch.runs.boxes import cannot_play_second_error
from ttt_batch.runs.knowledge import PlayingAgent
from ttt_batch.runs.run import Run


def persons_seat(agent: object, seat: str | None) -> int | None:
    """Return the person's seat as `choose_person` does; if none is given, one that leaves the agent a seat it plays.

    Raises UsageError for another one, and for a seat that leaves the agent one for which it has no moves.
    """
    if SEATS[1] in seats_of(agent):
        return choose_person(SEATS[0] if seat is None else seat)
    person = 1 if seat is None else choose_person(seat)
    if person != 1 and isinstance(agent, Run):
        what = f"a game in which you move {'first' if person == 0 else 'first in turn'}"
        raise cannot_play_second_error(agent.config.learner, what, f"choose {flag('seat', 'second')}, or leave it out")
    return person


def play_in_terminal(
    agent: PlayingAgent,
    *,
    person: int | None,
    stdin: TextIO,
    stdout: TextIO,
    seed: int | None = None,
    pupil: LearningAgent | None = None,
    record: Callable[[Sequence[int]], None] | None = None,
    level: Number = 1.0,
    epsilon: Number = 0.0,
    ties: Ties | None = None,
    plain: bool = False,
) -> Score:
    """Play games on a pair of text streams until the person leaves; return the score.

    person: the person's seat, 0 (moves first) or 1; None alternates, beginning with 0.
    seed: fixes everything that the agent draws.  pupil, record: as for `play_person_games`.
    level, epsilon, ties: how the agent plays, see `HandicappedAgent`; without ties as `default_ties` says.
    plain: lines of text also on a real terminal; elsewhere there is nothing else.

    Raises UsageError for another seat, other ties, and for a level or an epsilon outside 0 to 1; BoardError for `sharp`
    on a board too large to enumerate.
    """
    if person not in (0, 1, None):
        raise UsageError(f"person {person!r} is no seat; 0 moves first, 1 second, None alternates")
    rng = random.Random(seed)
    usual = default_ties(agent)
    ties = usual if ties is None else check_ties(ties)
    player = HandicappedAgent(agent, level, epsilon, rng, ties)
    weaker = player.level < 1 or player.epsilon > 0
    said = [f"level {player.level:g}, epsilon {player.epsilon:g}"] if weaker else []
    said += [f"ties {ties}"] if ties != usual else []
    strength = [f"Agent: {', '.join(said)}."] if said else []

    def session(face: Face) -> Session:
        return play_person_games(player, face, person=person, rng=rng, pupil=pupil, record=record, notes=strength)

    if plain or not has_screen(stdin, stdout):
        lines = Plain(stdin, stdout)
        return lines.drive(session(lines))
    query_once(agent, ties)
    view = ScreenFace(agent.board, colour=wants_colour(stdout))
    return play_on_screen(view, session(view), stdin, stdout, colour=wants_colour(stdout))
