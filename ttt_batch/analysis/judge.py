"""Evaluation of any agent on its board: a run, a built-in agent or one of another program.

It is exact on an enumerated board: by the policies of tables, or by an agent's answers in all positions that its play
reaches.  On larger boards, and for networks, a search looks for a lost game, and matches are played.

A proof is a search that exhausts all games which the agent allows, on boards of any size; certificates list its moves.

The search queries an agent layer by layer: all positions with equally many marks in one call.  It stops after the first
layer in which the agent has lost.

A random agent is sampled N times in each position; the frequencies of its answers serve as its move probabilities.  The
expected shares of such an evaluation are the agent's true ones, because no game visits a position twice.  Their
variance is at most that of N played games: the evaluation is the average over all ways to assign the answers to N
games, each answer used once.  So Wilson's interval for N games is wide enough.
"""

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from ttt_batch.agents.adapter import AgentAdapter, judge_exactly
from ttt_batch.agents.base import Words
from ttt_batch.agents.builtin import adapter_of, table_player
from ttt_batch.agents.layers import LayerRules, Reached, shares
from ttt_batch.agents.play_optimal import SearchingAgent
from ttt_batch.analysis.corrections import Corrected, correct
from ttt_batch.analysis.matches import (
    BEST,
    BEST_GAMES,
    CONFIDENCE,
    GAMES,
    MAX_MATCH_GAMES,
    GameBlock,
    Shares,
    Tally,
    check_both_seats,
    play_best,
    play_scripted,
    wilson,
)
from ttt_batch.core.errors import BoardError, CertificateError, UsageError, flag
from ttt_batch.core.outputs import check_distinct, named_file
from ttt_batch.core.resources import free_memory, thread_count
from ttt_batch.core.results import Printable, progress_callback, rows_by, stop_callback
from ttt_batch.core.text import (
    AGAINST,
    SCRIPTED,
    SEATS,
    Number,
    Ties,
    check_switches,
    check_ties,
    choose,
    choose_seat,
    either,
    find_name,
    given_options,
    parse_int,
    parse_seed,
    with_options,
)
from ttt_batch.evaluation import certificates
from ttt_batch.evaluation.prover import ALWAYS_WINS, BUDGET, CANNOT_LOSE, GOALS, Goal, Proof, Prover, Status
from ttt_batch.games.board import FIRST_WINS, Board
from ttt_batch.games.enumeration import too_large
from ttt_batch.games.gravity_solver import LIMIT, check_solvable
from ttt_batch.runs.evaluation import EXACT_OPPONENTS, NO_SHARES, Evaluation, JudgedAgent, Samples
from ttt_batch.runs.loading import AnyRun, load_any
from ttt_batch.runs.lookup import find_run
from ttt_batch.runs.run import Run
from ttt_batch.runs.state import table_digest

SEARCH_BUDGET = 2_000_000
"""Default limit of the positions that a search enters: some seconds and 32 MB."""

NETWORK_BUDGET = 20_000_000
"""The same for networks: half a minute."""

OPTIMAL_BUDGET, OPTIMAL_GAMES = 5_000, 100
"""The same for best play by search, which takes a millisecond or more for a position, and games of each match."""

MAX_SEARCH_BUDGET = 500_000_000

LEAST_MEMORY = 1 << 20
"""Least bytes for the positions of a search: it lists more positions than it enters, even with a tiny budget."""

Judged = AnyRun | AgentAdapter
"""A run, or any other agent at a board."""


SEARCHED = {"unbeatable": "unbeatable", "losing_line": "line", "verdict": "status"}
"""Attributes of what searches find, by their keys in JSON and in frames; those of other keys have the same name."""


def by_seat(found: Mapping[str, Proof], *keys: str) -> dict[str, dict[str, Any]]:
    """Return facts about searches or proofs by these keys of JSON, then by seat."""
    return {key: {seat: getattr(one, SEARCHED.get(key, key)) for seat, one in found.items()} for key in keys}


def search(
    run: Judged,
    seat: str,
    *,
    goal: Goal = CANNOT_LOSE,
    budget: Number = SEARCH_BUDGET,
    ties: Ties = "any",
    agent: Any = None,
) -> Proof:
    """Search for a game in which an agent misses its goal in a seat, `first` or `second`.

    One thread makes a refutation reproducible.
    budget: most positions to enter, 1 to 500,000,000; each takes up to 32 bytes.
    ties: as for `Run.candidates`.  agent: result of `table_player` for the run and these ties, if available.
    Raises UsageError.  The run does not change.
    """
    budget, number = parse_int("budget", budget, 1, MAX_SEARCH_BUDGET), SEATS.index(choose_seat(seat))
    if isinstance(run, AgentAdapter):
        reached = Reached(LayerRules(run.board, run.symmetric), run.answers, number, most=budget, stop=True)
        line = reached.losing_line()
        status: Status = "proved" if reached.whole and not run.samples else "undecided"
        return Proof("refuted" if line is not None else status, reached.positions, line)
    check_both_seats(run)
    size = 8 << (2 * budget).bit_length()
    if size > free_memory() and not run.generalises:
        raise UsageError(
            f"budget {budget:,} takes {size / 1e9:.1f} GB of memory, {free_memory() / 1e9:.1f} GB are free; "
            "give a smaller one"
        )
    memory = None if run.generalises else max(2 * size, LEAST_MEMORY)
    player, prover = agent or table_player(run, ties), Prover(run.board, memory, symmetric=run.symmetric)
    return prover.prove(player, number, goal, budget=budget, occupied=run.occupied)


@dataclass(frozen=True)
class SampledEvaluation(Printable):
    """Evaluation of an agent on a board too large to enumerate, or of networks.

    verdicts: by seat, whether the agent can be beaten.  matches: by opponent, then by seat.
    wins: by seat, whether it always wins; only for seats trained with that goal.
    budget, games, seed, ties: parameters of search and matches.  run: the agent if it is a run.  agent: any other one.
    samples: answers sampled in each position of the search if the agent is random; else None.
    """

    verdicts: dict[str, Proof]
    matches: dict[str, dict[str, Tally | Shares]]
    budget: int
    games: int
    seed: int
    ties: Ties = "any"
    run: AnyRun | None = dataclasses.field(default=None, repr=False, compare=False)
    wins: dict[str, Proof] = dataclasses.field(default_factory=dict)
    agent: JudgedAgent | None = dataclasses.field(default=None, compare=False)
    samples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them; keys mean the same as in exact evaluations."""
        return {
            **({} if self.agent is None else {"symmetric": self.agent.symmetric, "asked": self.agent.asked}),
            **({} if self.samples is None else {"samples": self.samples}),
            "ties": self.ties,
            **by_seat(self.verdicts, "unbeatable", "losing_line", "verdict", "positions"),
            **({"always_wins": {seat: found.unbeatable for seat, found in self.wins.items()}} if self.wins else {}),
            "budget": self.budget,
            "games": self.games,
            "seed": self.seed,
            "confidence": CONFIDENCE,
            "matches": {
                player: {seat: tally.to_dict() for seat, tally in tallies.items()}
                for player, tallies in self.matches.items()
            },
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each opponent and seat."""
        found = by_seat(self.verdicts, "verdict", "losing_line")
        rows = [
            {"against": player, "seat": seat, **tally.to_dict(), **{name: found[name][seat] for name in found}}
            for player, tallies in self.matches.items()
            for seat, tally in tallies.items()
        ]
        return rows, "against"


MAX_SAMPLES = 1_000_000

SAMPLED_CELLS = 12
"""Cells of the largest board where every position is sampled; larger boards use matches instead."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed Python's and NumPy's global generators, which agents may use, and restore their states on exit."""
    before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)  # noqa: NPY002


def judge_agent(
    agent: Judged,
    against: Judged | str | None = None,
    *,
    games: Number | None = None,
    seed: Number | None = None,
    budget: Number | None = None,
    samples: Number | None = None,
    ties: Ties = "any",
) -> Evaluation | SampledEvaluation:
    """Evaluate an agent, exactly unless its board is too large to enumerate or its answers are sampled.

    against: `random` (default), `one-ply`, `two-ply`, `optimal`, `self`, a run or another agent.
    On boards too large to enumerate: one of the first three, by default all three, or `optimal` on boards with gravity
    that a search solves.  Networks play matches against the first three; where all positions are enumerated, they have
    exact results against the others.
    games, seed, budget: as for `evaluate_sampled`, where matches are played.  ties: tie rule of runs.
    samples: answers sampled in each position of a random agent; `seed` then applies on any board.
    Raises UsageError, BoardError and AgentError.
    """
    ties = check_ties(ties)
    if agent.generalises and agent.enumerated and against is not None and against not in SCRIPTED:
        agent = adapter_of(agent, agent.board, ties)
    if agent.outside and ties != "any" and not isinstance(against, AnyRun):
        raise UsageError(f"{flag('ties', ties)} is for runs, and {agent.name} makes its own choices; leave it out")
    number = 0 if samples is None else checked_samples(samples, agent, *([against] if agent.enumerated else []))
    given = {name: value for name, value in (("games", games), ("seed", seed), ("budget", budget)) if value is not None}
    with seeded(parse_seed(0 if seed is None else seed)) if number else nullcontext():
        agent = agent.sampled(number) if isinstance(agent, AgentAdapter) and number else agent
        large = agent.outside and number > 0 and agent.board.cells > SAMPLED_CELLS
        if large or not agent.exact:
            check_scripted(agent, against)
            return evaluate_sampled(agent, SCRIPTED if against is None else [str(against)], ties=ties, **given)
        check_lengths(agent, [name for name in given if name != "seed" or not number], sampled=number > 0)
        against = "random" if against is None else against
        against = against.sampled(number) if isinstance(against, AgentAdapter) else against
        if isinstance(agent, AgentAdapter):
            other = agent if against == "self" else adapter_of(against, agent.board, ties)
            found = judge_exactly(agent, other, called="self" if against == "self" else "")
        else:
            assert isinstance(agent, Run), "networks are not exact"
            found = _judge_tables(agent, against, ties)
    return with_intervals(found, number, given.get("seed", 0)) if number else found


def check_lengths(agent: Judged, given: Sequence[str], *, sampled: bool = False) -> None:
    """Raise UsageError for options of matches, `given`, of an agent that is evaluated without them."""
    how = "in each position" if sampled else "exactly"
    for name in given:
        raise UsageError(
            f"{flag(name)} is for boards too large to enumerate; {agent.board.name} is evaluated {how}; leave it out"
        )


def check_scripted(agent: Judged, against: object, *, run: bool = False) -> None:
    """Raise BoardError for an opponent that an agent judged by matches cannot play.

    It plays scripted players and, where a search solves the board, `optimal`.

    against: an opponent, or what names one.  run: True if it names the file of a run.
    """
    if against is None or against in SCRIPTED:
        return
    if against == BEST and agent.board.rules == ["gravity"]:
        check_solvable(agent.board, BEST, f"choose {either(SCRIPTED)}")
        return
    named = isinstance(against, str) and find_name(against, AGAINST) is not None
    other = "another run" if run or isinstance(against, AnyRun) else "another agent"
    what, remedy = flag("against", against) if named else other, f"choose {either(SCRIPTED)}"
    if agent.generalises:
        raise BoardError(f"{what} needs a table of all positions, which networks do not have; {remedy}")
    if agent.exact:
        raise BoardError(f"{what} is for boards of up to {SAMPLED_CELLS} cells with samples; {remedy}")
    raise too_large(what, agent.board, remedy)


def _judge_tables(run: Run, against: Judged | str, ties: Ties) -> Evaluation:
    """Return the exact results of a run on an enumerated board, by policies if the opponent has one."""
    if isinstance(against, Run) or (isinstance(against, str) and against in EXACT_OPPONENTS):
        return run.evaluation(against, ties)
    opponent, own, rules = adapter_of(against, run.board, ties), adapter_of(run, run.board, ties), LayerRules(run.board)
    first = shares(rules, own.answers, opponent.answers)
    second = shares(rules, opponent.answers, own.answers)[::-1] if SEATS[1] in run.seats else NO_SHARES
    opponent.ask_again()
    return run.evaluated(opponent.name, first, second, ties)


def checked_samples(samples: Number, *players: object) -> int:
    """Return the validated number of answers per position.  Raises UsageError if no player's moves are random."""
    number = parse_int("samples", samples, 1, MAX_SAMPLES)
    if all(not isinstance(player, AgentAdapter) or player.agent.own for player in players):
        raise UsageError(
            f"{flag('samples', number)} is for your own agents with random moves; the move probabilities of these "
            "players are known; leave it out"
        )
    return number


def with_intervals(found: Evaluation, samples: int, seed: Number) -> Evaluation:
    """Add confidence intervals to an evaluation by samples: those of `samples` games, as the module explains."""
    ends = {seat: np.stack(wilson(np.array(getattr(found, seat)) * samples, samples), axis=1) for seat in SEATS}
    intervals = {seat: [(low, high) for low, high in pairs.tolist()] for seat, pairs in ends.items()}
    return dataclasses.replace(found, samples=Samples(samples, parse_seed(seed), CONFIDENCE, intervals))


def evaluate_sampled(
    agent: Judged,
    players: Sequence[str] = SCRIPTED,
    *,
    games: Number | None = None,
    seed: Number = 0,
    budget: Number | None = None,
    ties: Ties = "any",
) -> SampledEvaluation:
    """Search for losses and play matches, in both seats.  Raises UsageError and AgentError.

    players: scripted players, and `optimal` on a board with gravity.  Against `optimal` the shares are exact if games
    of the two reach few positions.
    games: of each match; None for GAMES, or BEST_GAMES against `optimal`.  budget: most positions of a search; None for
    SEARCH_BUDGET, or NETWORK_BUDGET with networks.  For `optimal` by search they are OPTIMAL_BUDGET and OPTIMAL_GAMES,
    and a move that takes it more than LIMIT positions is a BoardError.  A random agent gives a new answer for each move
    of a match; by default it plays as many games as it has samples, and its answers share the budget.
    ties: as for `Run.candidates`.  For enumerated boards, `Run.evaluation` is exact.
    """
    # Check first: a search may take minutes.
    samples = agent.samples if isinstance(agent, AgentAdapter) else 0
    usual = NETWORK_BUDGET if agent.generalises else max(1, SEARCH_BUDGET // (samples or 1))
    usual_games = samples or (BEST_GAMES if BEST in players else GAMES)
    limited: AbstractContextManager[None] = nullcontext()
    if isinstance(agent, AgentAdapter) and isinstance(agent.agent, SearchingAgent):
        usual, usual_games, limited = OPTIMAL_BUDGET, OPTIMAL_GAMES, agent.agent.within(LIMIT)
    games, seed = parse_int("games", usual_games if games is None else games, 1, MAX_MATCH_GAMES), parse_seed(seed)
    most = parse_int("budget", usual if budget is None else budget, 1, MAX_SEARCH_BUDGET)
    players = [choose("player", player, (*SCRIPTED, BEST)) for player in players]
    player = agent if isinstance(agent, AgentAdapter) else table_player(agent, ties)
    with limited:
        wins = {seat: search(agent, seat, goal=ALWAYS_WINS, budget=most) for seat in agent.winning_seats}
        won = {seat: verdict for seat, verdict in wins.items() if verdict.unbeatable}
        verdicts = {seat: won.get(seat) or search(agent, seat, budget=most, agent=player) for seat in SEATS}
        if isinstance(agent, AgentAdapter):
            agent.ask_again()
        lost = {seat: LostGame(number) for number, seat in enumerate(SEATS)} if samples else {}
        matches = dict[str, dict[str, Tally | Shares]]()
        for name in players:
            play: Any = play_best if name == BEST else play_scripted
            opponent = adapter_of(BEST, agent.board) if name == BEST else name
            matches[name] = {
                seat: play(agent, opponent, seat, games=games, seed=seed, agent=player, seen=lost.get(seat))
                for seat in SEATS
            }
    verdicts |= {seat: observed.told(verdicts[seat]) for seat, observed in lost.items()}
    if isinstance(agent, AgentAdapter):
        agent.ask_again()
        return SampledEvaluation(verdicts, matches, most, games, seed, agent=agent.judged, samples=samples or None)
    return SampledEvaluation(verdicts, matches, most, games, seed, ties, agent, wins)


class LostGame:
    """Observer of matches that keeps the agent's shortest lost game.  line: its cells; None before the first loss."""

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self.line: list[int] | None = None
        self._taken = list[Words]()

    def __call__(self, ply: int, games: GameBlock) -> None:
        """Check the games after a move for losses, as `seen` of `play_agents`."""
        if ply == 0:
            self._taken = [np.zeros_like(games.cells)]
        self._taken.append(games.marks[0] | games.marks[1])
        lost = np.flatnonzero(games.outcome == FIRST_WINS + 1 - self.seat)
        if lost.size and (self.line is None or ply + 1 < len(self.line)):
            taken = [int(cells[lost[0]]) for cells in self._taken]
            marks = [after ^ before for before, after in itertools.pairwise(taken)]
            # The last move may be a forfeit: the agent chose an occupied cell, so no mark is new.
            self.line = [(mark or int(games.cells[lost[0]])).bit_length() - 1 for mark in marks]

    def told(self, verdict: Proof) -> Proof:
        """Return the verdict of a search, or `refuted` with the lost game if only the matches show a loss."""
        if self.line is None or verdict.line is not None:
            return verdict
        return Proof("refuted", verdict.positions, self.line)


MAX_BUDGET = 10**12


@dataclass(frozen=True)
class Proofs(Printable):
    """Results of the proofs of a run.

    goal: `cannot-lose` or `always-wins`.  ties: the rule of play, see `ties`.
    found: proofs by seat.  certificates: by seat, the file and the number of positions that it lists.
    corrections: by seat, the corrected player; only with `correct`.
    """

    goal: Goal
    ties: Ties
    found: dict[str, Proof]
    certificates: dict[str, tuple[Path, int]]
    run: AnyRun = field(repr=False, compare=False)
    corrections: dict[str, Corrected] = field(default_factory=dict, repr=False, compare=False)

    @property
    def board(self) -> Board:
        """Return the run's board."""
        return self.run.board

    @property
    def proved(self) -> bool:
        """Return whether the agent provably reaches its goal in every seat."""
        return all(proof.status == "proved" for proof in self.found.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with stable keys, as `--json` prints them."""
        return {
            "goal": self.goal,
            "ties": self.ties,
            **by_seat(self.found, "verdict", "positions", "losing_line", "seconds"),
            "certificate": {seat: str(path) for seat, (path, _) in self.certificates.items()},
            "certificate_positions": {seat: size for seat, (_, size) in self.certificates.items()},
            "corrections": {seat: self.corrections[seat].size if self.corrections else None for seat in self.found},
        }

    def records(self) -> tuple[list[dict[str, Any]], str]:
        """Return a row for each seat."""
        return rows_by("seat", by_seat(self.found, "verdict", "positions", "losing_line")), "seat"


class ProofOptions(TypedDict, total=False):
    """Options of `prove`: what it proves, and how."""

    seat: str | None
    goal: str | None
    budget: Number | None
    ties: Ties
    threads: Number | None
    correct: bool


@with_options(ProofOptions, {"budget": BUDGET, "ties": "any", "correct": False})
def prove(
    run: AnyRun | str | Path,
    *,
    certificate: str | Path | None = None,
    overwrite: bool = False,
    trust: bool = False,
    progress: Callable[[int, int], None] | bool | None = None,
    stop: Callable[[], bool] | None = None,
    **options: Unpack[ProofOptions],
) -> Proofs:
    """Prove that a run's agent reaches its goal against every opponent, or find a game in which it misses it.

    run: a run or the name of its file.
    seat: `first`, `second` or `both`.  goal: `cannot-lose` or `always-wins`.  By default networks take the seat and
    goal of their training, and tables take `both` and `cannot-lose`.
    budget: most positions to enter in each seat.  ties: as for `Run.candidates`.  threads: None for all processors.
    certificate: an `.npz` to write if a seat is proved; with two seats `-first` and `-second` are added to its name.
    trust: read a file that another program has changed.
    progress: True for a line on standard error, or a function of the positions entered and lost games found, which is
    called every 65,536 positions of a thread, and with `correct` after each lost game.  stop: called as often; once it
    returns True, the search ends.
    correct: on boards with gravity, replace moves that give the goal away by moves of best play, see
    `analysis.corrections`, and prove the corrected player.  One thread does so, and `budget` is that of each walk.
    Raises RunFileError, BoardError for other boards with `correct`, CertificateError if a certificate cannot be
    written, and UsageError, also for several `threads` with `correct`, and if a certificate would replace the run.
    """
    given, sources = given_options(prove, options), list[Path]()
    check_switches(trust=trust)
    halted = stop_callback(stop)
    if not isinstance(run, AnyRun):
        sources = [find_run(run)]
        run = load_any(sources[0], trust=trust)
    seat = choose_seat(given.get("seat", run.config.seat if run.generalises else "both"), "both")
    goal = choose("goal", given.get("goal", ALWAYS_WINS if run.winning_seats else CANNOT_LOSE), GOALS)
    aim, ties = GOALS[GOALS.index(goal)], check_ties(given.get("ties", "any"))
    wanted = SEATS if seat == "both" else (seat,)
    most = parse_int("budget", given.get("budget", BUDGET), 1, MAX_BUDGET)
    at_once = thread_count(given.get("threads"))
    files = certificate_files(certificate, wanted, sources, overwrite=overwrite)
    check_both_seats(run)
    if given.get("correct") and given.get("threads") is not None and at_once > 1:
        raise UsageError(
            f"{flag('threads', at_once)} does not go with {flag('correct', True)}, which takes 1; leave it out"
        )
    player = table_player(run, ties)
    prover, found = Prover(run.board, symmetric=run.symmetric), dict[str, Proof]()
    written, corrections = dict[str, tuple[Path, int]](), dict[str, Corrected]()
    for name in wanted:
        number = SEATS.index(name)
        with progress_callback(progress, "proving") as report:

            def follow(entered: int, lost: int) -> bool:
                if report is not None:
                    report(entered, lost)
                return halted()

            if given.get("correct"):
                corrections[name] = correct(run, player, number, aim, budget=most, follow=follow)
                found[name] = corrections[name].proof
            else:
                found[name] = prover.prove(
                    player, number, aim, budget=most, threads=at_once, occupied=run.occupied, follow=follow
                )
        if found[name].status == "proved" and name in files:
            proved: Any = player
            source: dict[str, Any] = run_facts(run)
            if name in corrections:
                proved, source = corrections[name].agent, source | {"corrections": corrections[name].size}
            listed = certificates.certify(proved, run.board, number, aim, symmetric=run.symmetric, source=source)
            certificates.write_certificate(listed, files[name], overwrite=overwrite)
            written[name] = files[name], int(listed.move.size)
    return Proofs(aim, ties, found, written, run, corrections)


def certificate_files(
    given: str | Path | None, seats: tuple[str, ...], sources: Sequence[Path], *, overwrite: bool
) -> dict[str, Path]:
    """Return the certificate file of each seat, checked before the proof begins.  sources: the files of runs."""
    if given is None:
        return {}
    path = named_file("certificate", given)
    if path.suffix != ".npz":
        certificates.check_path(path)
    files = {seat: path if len(seats) == 1 else path.with_name(f"{path.stem}-{seat}{path.suffix}") for seat in seats}
    check_distinct([(flag("certificate"), file) for file in files.values()], [("run", source) for source in sources])
    for file in files.values():
        certificates.check_path(file, overwrite=overwrite)
    return files


def check_certificate(path: Path, run: AnyRun | None) -> tuple[str, list[str]]:
    """Return a certificate's claim and a list of its errors, at most one.

    run: the run that it must belong to, if given.  The claim is empty if the file cannot be read as a certificate.
    """
    claim = ""
    try:
        certificate = certificates.load_certificate(path)
        claim = certificates.goal_of_certificate(certificate)
        certificates.check_holds(certificate, path)
        if run is not None:
            certificates.check_match(certificate, run.board, run_facts(run))
    except CertificateError as error:
        return claim, [str(error)]
    return claim, []


def run_facts(run: AnyRun) -> dict[str, Any]:
    """Return the facts by which a certificate identifies its run."""
    arrays = run.tables if isinstance(run, Run) else run.agent.weights
    return {
        "learner": run.config.learner,
        "board": run.board.name,
        "games": run.games,
        "seed": run.config.seed,
        "digest": table_digest(arrays),
    }
