"""Verification of the proofs that networks record, by repeating them from the weights."""

from collections.abc import Iterator

import numpy as np

from ttt_batch.base.choices import SEATS
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import EMPTY
from ttt_batch.game.lines import make_lines
from ttt_batch.patterns.agent import NetAgent, make_network_agent
from ttt_batch.patterns.games import BOTH
from ttt_batch.patterns.values import network_view
from ttt_batch.proofs.prover import ALWAYS_WINS, CANNOT_LOSE, Prover
from ttt_batch.runs.patterns.run import PROVED, REFUTED, UNDECIDED, PatternRun
from ttt_batch.training.patterns.session import NUMBERS
from ttt_batch.training.patterns.trainer import PatternTrainer, next_point


def check_proofs(run: PatternRun) -> list[str]:
    """Repeat the last proofs of a run of networks; return one line for each recorded proof or point that is wrong."""
    return [*_wrong_points(run), *_proved_again(run), *_last_again(run)]


def _wrong_points(run: PatternRun) -> Iterator[str]:
    """Yield a line if the recorded points differ from those that follow from the configuration."""
    games = [0, *run.statistics["games"].tolist()]
    due = [next_point(run.config, before) for before in games[:-1]]
    if not run.config.start and run.games and (games[1:-1] != due[:-1] or games[-1] > due[-1]):
        yield "statistics/games are not the recorded points that follow from its configuration"


def _proved_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the weights proved last; yield a line for each difference."""
    if run.proved is None:
        return
    agent = make_network_agent(run.network, run.proved.T[:, run.network.kind])
    goal, prover = ALWAYS_WINS if run.config.always_wins else CANNOT_LOSE, Prover(run.board)
    for seat in run.config.seats:
        recorded = run.proved_positions(seat)
        if not run.proved_after(seat):
            continue
        again = prover.prove(agent, seat, goal, budget=max(recorded, 1), symmetric=run.config.sharing != "none")
        if (again.status, again.positions) != ("proved", recorded):
            yield (
                f"statistics/proof has {SEATS[seat]} proved with {count_text(recorded, 'position')}; "
                f"tables/proved is {again.status} there with {again.positions:,}"
            )


def _last_again(run: PatternRun) -> Iterator[str]:
    """Repeat the proofs of the last recorded point from the last weights; yield a line for each difference."""
    proof = run.statistics["proof"][-1:].ravel()
    if run.config.start or not proof.any():
        return
    trainer = PatternTrainer(run.config, run, 1)
    found = trainer.prove(lambda: False) or {}
    for seat, again in found.items():
        if proof[seat] not in (UNDECIDED, NUMBERS[again.status]):
            name = next(name for name, number in NUMBERS.items() if number == proof[seat])
            yield f"the last row of statistics/proof has {SEATS[seat]} {name}; the last weights are {again.status}"
        weights = run.learnt.weights[-seat, :, seat]  # of the first network, or the last one
        if proof[seat] == PROVED and run.proved is not None and not np.array_equal(run.proved[:, seat], weights):
            yield f"tables/proved is not what proved {SEATS[seat]} at the last recorded point"
    for aim, games in zip(run.config.aims, run.learnt.lost, strict=True):
        lost = [seat for seat in found if aim.seat in (seat, BOTH) and proof[seat] == REFUTED]
        if lost and len(games) and not _lets_happen(run, trainer.agent(lost[-1]), lost[-1], games[-1].tolist()):
            yield "the last game of tables/lost cannot occur with the last weights"


def _lets_happen(run: PatternRun, agent: NetAgent, seat: int, game: list[int]) -> bool:
    """Return whether all moves of the agent's seat in a game are among its best."""
    lines, marks = make_lines(run.board), (EMPTY,) * run.board.cells
    for ply, cell in enumerate(cell for cell in game if cell >= 0):
        if ply % 2 == seat and cell not in network_view(lines, agent, marks).best:
            return False
        marks = run.board.after(marks, cell)
    return True
