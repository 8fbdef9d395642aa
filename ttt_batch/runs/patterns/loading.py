"""Loading of run files of pattern networks."""

from collections.abc import Iterator

from ttt_batch.base.errors import RunFileError
from ttt_batch.base.memory import free_memory
from ttt_batch.base.quantities import count_text
from ttt_batch.game.board import EMPTY, FIRST_WINS, SECOND_WINS, UNFINISHED
from ttt_batch.patterns.games import BOTH
from ttt_batch.runs.patterns.config import PatternConfig, pattern_config_from
from ttt_batch.runs.patterns.contents import FOREIGN, NetworkState, restore
from ttt_batch.runs.patterns.run import REFUTED, UNDECIDED, PatternRun
from ttt_batch.runs.runfile.checks import RunData
from ttt_batch.runs.runfile.declaration import NETWORK_COLUMNS


def pattern_run_of(data: RunData) -> PatternRun:
    """Return the run of a file's data.  Raises RunFileError if they contradict each other."""
    config = pattern_config_from(data.config)
    network = config.network()
    kinds, networks = network.kind_start.size - 1, len(config.aims)
    if data.states or data.resume:
        raise RunFileError(f"it holds positions, which pattern networks do not have; {FOREIGN}")
    for finding in contradictions(data, config):
        raise RunFileError(f"{finding}; {FOREIGN}")
    if networks * kinds * 40 > free_memory():
        raise RunFileError(f"its {count_text(networks * kinds * 2, 'weight')} take more memory than is free; free some")
    learnt, proved = restore(data.tables, networks, kinds, config.board.cells)
    for finding in _lost_contradictions(learnt, data, config):
        raise RunFileError(f"{finding}; {FOREIGN}")
    run = PatternRun(config, data.games, learnt, data.statistics, proved)
    if (proved is not None) != any(map(run.proved_after, config.seats)):
        raise RunFileError(f"tables/proved does not agree with statistics/proof; {FOREIGN}")
    run.network = network
    run.provenance, run.notes, run.version, run.size = data.provenance, data.notes, data.version, data.size
    run.goal = int(data.progress.get("goal", 0))
    run.interrupted = run.games < run.goal or run.lacks_proof
    return run


def contradictions(data: RunData, config: PatternConfig) -> Iterator[str]:
    """Yield a message for each contradiction in the statistics of a file."""
    games, outcomes = data.statistics["games"], data.statistics["outcomes"]
    missing = [name for name in NETWORK_COLUMNS if name not in data.statistics]
    if missing:
        yield f"statistics/{missing[0]} is missing"
        return
    if data.games and not (games.size and games[-1] == data.games):
        yield "its last recorded point is not that of its last game"
    if any(sum(row) != number for row, number in zip(outcomes.tolist(), games.tolist(), strict=True)):
        yield "statistics/outcomes does not add up to the games played"
    if config.start:
        return  # proofs from before the given games do not hold for the present networks
    proof, positions = (data.statistics[name] for name in NETWORK_COLUMNS)
    if ((proof != UNDECIDED) & (positions == 0)).any():
        yield "statistics/proof holds proofs or refutations that entered no position"
    others = [seat for seat in (0, 1) if seat not in config.seats]
    if (proof[:, others] != UNDECIDED).any() or positions[:, others].any():
        yield f"statistics/proof holds a proof of a seat other than {config.seat}"
    if not config.prove_every and (proof.any() or positions.any()):
        yield "statistics/proof holds proofs, but its configuration turns them off"
    if data.games % config.round or (games % config.round).any():
        yield f"its games are not whole rounds of {config.round:,}"


def _lost_contradictions(learnt: NetworkState, data: RunData, config: PatternConfig) -> Iterator[str]:
    """Yield a message for each contradiction between the lost games and the rules or the proofs."""
    board = config.board
    for number, (games, aim) in enumerate(zip(learnt.lost, config.aims, strict=True)):
        seats = config.seats if aim.seat == BOTH else (aim.seat,)
        wins = {(FIRST_WINS, SECOND_WINS)[seat] for seat in seats}
        losses = {(SECOND_WINS, FIRST_WINS)[seat] for seat in seats}
        for game in games.tolist():
            ends, marks = UNFINISHED, (EMPTY,) * board.cells
            for cell in (cell for cell in game if cell >= 0):
                if ends != UNFINISHED:
                    yield "tables/lost holds a game with moves after its end"
                marks = board.after(marks, cell)
                ends = board.outcome(marks)
            # An agent that must win has failed as soon as it can no longer fill a line.
            if wins == {ends} if config.always_wins else ends not in losses:
                yield "tables/lost holds a game that was not lost"
        refuted = (data.statistics["proof"][:, list(seats)] == REFUTED).any()
        if not config.start and bool(refuted) != (len(games) > 0):
            yield (
                f"tables/lost holds {count_text(len(games), 'game')} of network {number}, contrary to statistics/proof"
            )
