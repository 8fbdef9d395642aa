"""Learning from games that somebody else has played, one after the other.

A game teaches what the same game of self-play would: a batch of its own.  A move counts as the network's own choice,
unless it is marked as exploratory, or, where only best moves teach, is none of them.  Where what was played teaches,
any other move does, too, even one that the network would not have made.

Self-play takes every win in one.  If one is passed up, the game up to there teaches that it was there, and the rest
what a game does that begins after it.
"""

from typing import Any

import numpy as np

from ttt_batch.base.bits import NONE, all_cells, single
from ttt_batch.base.jit import inlined, kernel
from ttt_batch.game.board import DRAW, FIRST_WINS
from ttt_batch.game.lines import Lines, view_of
from ttt_batch.game.transcripts import Games
from ttt_batch.patterns.fold import fold_errors
from ttt_batch.patterns.games import (
    BEST,
    Aim,
    Errors,
    GameWorkspace,
    add_game,
    decided_worth,
    is_decided,
    judge_moves,
    play_move,
    see_moves,
    squash,
)
from ttt_batch.patterns.moves import WINS
from ttt_batch.patterns.network import Network
from ttt_batch.patterns.scores import copy_scores, see_empty
from ttt_batch.patterns.sums import clear_index


@inlined
def replay_game(
    lines: Lines,
    network: Network,
    weights: Any,
    aim: Aim,
    moves: Any,
    exploring: Any,
    game: GameWorkspace,
    errors: Errors,
) -> None:
    """Add what a whole game teaches to `errors`, which hold nothing else then.

    weights: int32[P, W].  moves: int8[plies], cells.  exploring: bool[plies], moves marked as exploratory.
    """
    errors.n_touched[0] = 0
    clear_index(network, game.index)
    see_empty(network, weights, game.index, game.empty, ~NONE)
    copy_scores(game.empty, game.scores)
    everywhere, last, begun = all_cells(lines.cells), moves.shape[0] - 1, 0
    first, second = NONE, NONE
    for ply in range(last + 1):
        mover = ply & 1
        own, other = (second, first) if mover else (first, second)
        free = everywhere & ~(first | second)
        view = view_of(lines, own, other)
        game.explored[ply] = False
        if ply > 0 and is_decided(lines, aim, view, mover):
            game.target[ply] = decided_worth(lines, aim, ply)
            add_game(network, aim, game, begun, ply, errors)
            return
        cells, kind, total, worth = judge_moves(lines, network, weights, game, ply, free, view)
        game.target[ply] = aim.discount * worth
        cell = np.int64(moves[ply])
        best = cells & single(cell) != NONE
        game.explored[ply] = kind != WINS and (exploring[ply] != 0 or (aim.teaching == BEST and not best))
        played = kind != WINS and not best and not game.explored[ply]
        if played and ply == last:  # it has made a line by which it loses
            game.target[ply] = aim.discount * (2.0 * mover - 1.0)
        if kind == WINS or ply == last:
            add_game(network, aim, game, begun, ply, errors)
            if ply == last:
                return
            begun = ply + 1
            see_moves(network, weights, game, mover, free, max(ply - 2, 0), ply)
            total = game.scores.total[mover]
        play_move(network, game, ply, cell)
        first, second = (first, second | single(cell)) if mover else (first | single(cell), second)
        game.value[ply + 1] = squash(total + game.scores.score[mover, cell])
        if played:
            game.target[ply] = aim.discount * game.value[ply + 1]


@inlined
def game_result(lines: Lines, moves: Any) -> Any:
    """The outcome of a whole game, as a position's."""
    marks, other = NONE, NONE  # of the player to move, and of the other one
    for ply in range(moves.shape[0] - 1):
        marks, other = other, marks | single(np.int64(moves[ply]))
    mover = (moves.shape[0] - 1) & 1
    if view_of(lines, marks, other).own & single(np.int64(moves[moves.shape[0] - 1])) == NONE:
        return DRAW
    return FIRST_WINS + (1 - mover if lines.misere else mover)


@kernel
def learn_network_games(
    lines: Lines, network: Network, net: Any, step: float, games: Games, game: GameWorkspace, errors: Errors
) -> None:
    """Learn from whole games, each a batch of its own; `net` (a `Net`) changes in place, and `errors` counts results.

    games: of cells.  errors: of one thread, with a first axis of its own.
    """
    own = Errors(errors.sums[0], errors.touched[0], errors.n_touched[0], errors.outcomes[0])
    for number in range(games.start.shape[0] - 1):
        begin, end = games.start[number], games.start[number + 1]
        moves = games.move[begin:end]
        replay_game(lines, network, net.weights, net.aim, moves, games.exploring[begin:end], game, own)
        fold_errors(network, net.weights, net.coherence, step, errors.sums, errors.touched, errors.n_touched, (0, 1))
        own.outcomes[game_result(lines, moves)] += 1
