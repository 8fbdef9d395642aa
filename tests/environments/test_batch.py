"""`Batch` against games in dictionaries, and what it promises: seeds, splits, arrays, errors, memory."""

import copy
import itertools
import pickle
import random

import numpy as np
import pytest
from helpers.support import mostly_slow
from oracle.batch import NaiveGame

import ttt_batch as ttt

KINDS = [
    "3x3",
    "3x3x3-misere",
    "4x4x4",
    "4x4x3-exact",
    "4x4x4-gravity",
    "6x7x4-gravity",
    "6x7x4-misere-exact-gravity",
    "5x5x4-misere-exact",
    "5x5x5",
    "5x6x4-exact",
    "4x8x3",
    "8x4x4-gravity",
    "3x11x5",
    "6x6x5",
    "6x7x4",
    "7x9x5",
    "8x8x5-exact",
    "8x8x4-gravity",
    "8x8x8",
    "1x64x20",
    "64x1x9-exact",
    "1x1",
    "2x2x1",
    "3x3x1-exact",
    "1x9x4-gravity",
    "9x1x3-gravity",
    "2x31x2",
    "31x1x31",
    "1x32x31-exact",
]
MODES = ("same-step", "next-step", "disabled")


def compare(board: str, autoreset: str, steps: int, n: int = 37, forfeits: bool = False, plain: bool = False) -> int:
    """Step both `steps` times in all with random actions; return how many games ended.

    plain: nothing is kept of games that end.
    """
    seed = 5 + plain
    chance, ended = random.Random(f"{board} {autoreset} {seed}"), 0
    illegal = "lose" if forfeits else "raise"
    keeps = {} if plain else {"record": True, "keep_last": True}
    batch = ttt.Batch(n, board, seed, autoreset=autoreset, illegal=illegal, **keeps)
    naive = [NaiveGame(board, autoreset, forfeits) for _ in range(n)]
    for _ in range(-(-steps // n)):
        actions = []
        for game in naive:
            legal = [action for action, allowed in enumerate(game.mask()) if allowed]
            anything = forfeits and chance.random() < 0.1
            actions.append(chance.choice(legal) if legal and not anything else chance.randrange(batch.n_actions))
        seen = batch.step(np.array(actions))
        results = [game.step(action) for game, action in zip(naive, actions, strict=True)]
        assert seen.rewards.tolist() == [list(rewards) for rewards, _ in results]
        assert not (np.signbit(seen.rewards) & (seen.rewards == 0)).any()
        assert seen.terminated.tolist() == [over for _, over in results]
        assert seen.planes.tolist() == [game.planes() for game in naive]
        assert seen.mask.tolist() == [game.mask() for game in naive]
        lines = [" ".join(map(str, game.finished)) for game in naive if game.finished is not None]
        assert plain or batch.games() == lines
        boards = [
            [
                sum(1 << (row * game.cols + col) for (row, col), mark in game.marks.items() if mark == player)
                for player in (0, 1)
            ]
            for game in naive
        ]
        assert batch.bitboards.tolist() == boards
        if batch.board.cells <= 39:
            assert batch.codes.tolist() == [game.code() for game in naive]
        ended += int(seen.terminated.sum())
        if autoreset == "disabled" and seen.terminated.any():
            batch.reset(seen.terminated.copy())
            for game in naive:
                if game.over:
                    game.reset()
            assert seen.planes.tolist() == [game.planes() for game in naive]
            assert not seen.terminated.any()
            assert not seen.rewards.any()
    return ended


QUICK = "3x3", "4x4x4-gravity", "6x7x4-misere-exact-gravity"
"""Words of both sizes, and numbers of cells of which other tests compile kernels, too."""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", mostly_slow(KINDS, *QUICK))
def test_every_board_is_that_of_a_dictionary(board: str):
    cells = ttt.parse_board(board).cells
    for autoreset in MODES:
        n = 11 if cells < 32 else 4
        steps = n * (cells + 20)
        for forfeits, plain in itertools.product((False, True), repeat=2):
            assert compare(board, autoreset, steps, n, forfeits, plain) > 0


def play(batch: ttt.Batch, steps: int, start: int = 0) -> list[bytes]:
    """The bytes of everything that environments from `start` on see in `steps` random steps."""
    seen = [batch.planes[start:].tobytes()]
    for _ in range(steps):
        step = batch.step(batch.sample())
        seen += [array[start:].tobytes() for array in step] + [batch.bitboards[start:].tobytes()]
    return seen


@pytest.mark.sampled(3)
@pytest.mark.parametrize("opponent", [None, "random", "optimal"])
@pytest.mark.parametrize("autoreset", ["same-step", "next-step"])
def test_games_are_the_same_however_environments_are_split(opponent: str | None, autoreset: str):
    whole = play(ttt.Batch(1500, "3x3", 7, opponent, autoreset), 30, start=1400)
    part = play(ttt.Batch(100, "3x3", 7, opponent, autoreset, first_env=1400), 30)
    assert whole == part
    assert part != play(ttt.Batch(100, "3x3", 8, opponent, autoreset, first_env=1400), 30)
    assert part != play(ttt.Batch(100, "3x3", 7, opponent, autoreset), 30)


@pytest.mark.slow
@pytest.mark.parametrize("board", ["3x11x5", "6x7x4", "6x7x4-gravity", "8x8x5"])
def test_boards_written_many_at_once_are_those_written_one_by_one(board: str):
    """Wide boards are written 64 at a time, and the rest bit by bit, which are all in a small batch."""
    for dtype, autoreset in ((np.uint8, "same-step"), (np.bool_, "next-step")):
        memory = np.zeros(2 * 1100 * 64 + 1, dtype)[1:]  # on no boundary
        shape = 1100, 2, *ttt.Batch(1, board).planes.shape[2:]
        arrays = {"planes": memory[: np.prod(shape)].reshape(shape)}
        many = ttt.Batch(1100, board, 7, autoreset=autoreset, dtype=dtype, arrays=arrays)
        few = ttt.Batch(50, board, 7, autoreset=autoreset, dtype=dtype, first_env=1050)
        assert play(many, 40, start=1050) == play(few, 40)
        assert not memory[np.prod(shape) :].any()


def test_a_seed_gives_the_games_that_it_always_gave():
    for opponent, codes in {"random": [0, 3543, 12663, 14256], None: [16859, 15931, 12735, 14275]}.items():
        batch = ttt.Batch(4, "3x3", 0, opponent, "same-step")
        play(batch, 6)
        assert batch.codes.tolist() == codes


def test_without_a_seed_one_is_drawn():
    one, other = ttt.Batch(20), ttt.Batch(20)
    assert one.seed != other.seed
    assert f"seed={one.seed}" in repr(one)
    assert play(one, 20) != play(other, 20)
    again = ttt.Batch(20, seed=one.seed)
    one.reset(seed=one.seed)
    assert play(one, 20) == play(again, 20)


def test_a_reset_with_a_seed_begins_from_the_start():
    batch = ttt.Batch(50, "4x4x4", 3, "random")
    first = play(batch, 20)
    batch.reset(seed=3)
    assert play(batch, 20) == first
    assert batch.game_numbers.max() > 0
    before = batch.game_numbers
    batch.reset()
    assert (batch.game_numbers == before + 1).all()
    which = np.arange(50) % 2 == 0
    batch.reset(which)
    assert (batch.game_numbers == before + 1 + which).all()
    batch.reset(which, seed=4)
    assert (batch.game_numbers == np.where(which, 0, before + 1)).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", mostly_slow(["3x3", "3x4x3-misere", "6x7x4-gravity"], "3x3", "3x4x3-misere"))
@pytest.mark.parametrize("seat", ["first", "second", "alternate"])
def test_an_opponent_replies_in_the_same_step(board: str, seat: str):
    """Every turn adds the agent's action and a legal reply, and the rewards are those of the game."""
    batch = ttt.Batch(300, board, 1, "random", "same-step", seat=seat, record=True, keep_last=True)
    rules, replies, ends = batch.board, set(), 0
    for _ in range(60):
        game_numbers, seats = batch.game_numbers, batch.seats.copy()
        expected = {"first": 0, "second": 1}.get(seat, (game_numbers + np.arange(300)) % 2)
        assert (seats == expected).all()
        boards, actions = batch.bitboards, batch.sample()
        shown = boards[np.arange(300), seats]
        assert (batch.planes.reshape(300, 2, -1)[:, 0] @ (1 << np.arange(rules.cells)) == shown.astype(np.int64)).all()
        seen = batch.step(actions)
        after, finished, last = batch.bitboards, iter(batch.games()), batch.last
        for env in range(300):
            if seen.terminated[env]:
                line = [int(cell) for cell in next(finished).split()]
                game = NaiveGame(board, "disabled")
                for cell in line:
                    assert not game.over
                    reward = game.play(cell % game.cols if game.gravity else cell)
                assert game.over
                assert seen.rewards[env].tolist() == list(reward)
                mine = [cell for ply, cell in enumerate(line) if ply % 2 == seats[env]]
                assert np.flatnonzero(last[env, 0]).tolist() == sorted(mine)
                ends += 1
            else:
                assert not seen.rewards[env].any()
                added = after[env] ^ boards[env]
                assert [int(bits).bit_count() for bits in added] == [1, 1]
                replies.add(int(added[1 - seats[env]]))
    assert ends > 300
    assert len(replies) == rules.cells


@pytest.mark.slow
def test_best_play_never_loses_and_a_run_plays_as_it_does():
    for board in ("3x3", "4x4x3"):
        batch = ttt.Batch(2000, board, 1, "optimal", "same-step")
        results = np.zeros(3, int)
        for _ in range(12):
            seen = batch.step(batch.sample())
            # In a game that has ended the seat is that of the next one: in turn, so it was the other.
            agent = seen.rewards[np.arange(2000), 1 - batch.seats][seen.terminated]
            results += [(agent == value).sum() for value in (1, 0, -1)]
        assert results[2] > results[1]
        if board == "3x3":
            assert results[0] == 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["td", "sutton-barto", "minimax-q"])
def test_a_run_as_opponent_has_its_exact_results(learner: str):
    run = ttt.train(2000, learner=learner, seed=1)
    expected = run.evaluation("random").first
    batch = ttt.Batch(20_000, "3x3", 5, run, "same-step", seat="second")
    count = np.zeros(3)
    for _ in range(25):
        seen = batch.step(batch.sample())
        count += [(seen.rewards[seen.terminated, 0] == value).sum() for value in (1, 0, -1)]
    # Games that take long are a little too few among those that have ended.
    assert np.abs(count / count.sum() - expected).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("board", ["5x5x5", "3x3"])
def test_networks_and_grown_tables_are_opponents_too(board: str):
    run = ttt.train(500, board=board, learner="patterns" if board == "3x3" else "td", batch=50)
    batch = ttt.Batch(50, board, 5, run, "next-step")
    for _ in range(30):
        batch.step(batch.sample())
    assert batch.game_numbers.min() > 0


def test_what_is_wrong_is_refused_before_anything_changes():
    batch = ttt.Batch(4, "3x3", autoreset="disabled")
    batch.step(np.array([0, 1, 2, 3]))
    before = batch.bitboards
    for actions, message in [
        (np.array([1, 2, 3, 3]), "action 3 of environment 3 is illegal: the cell is not free"),
        (np.array([1, 2, 3, 9]), "action 9 of environment 3 is outside 0 .. 8"),
        (np.array([-1, 2, 3, 4]), "action -1 of environment 0 is outside"),
        (np.array([1, 2, 3]), r"array of int64 with the shape \(3,\); give an array of integers with the shape \(4,\)"),
        (np.array([1.0, 2, 3, 4]), "array of float64"),
        ([1.0, 2, 3, 4], "array of float64"),
        ([1, 2, 3], r"array of int64 with the shape \(3,\); give an array of integers with the shape \(4,\)"),
        ([[1], 2, 3, 4], "actions are 'list', no array of numbers; give an array of integers"),
        ({1, 2, 3, 4}, "actions are 'set'"),
        (None, "actions are 'NoneType'"),
        (["a"] * 4, "actions are 'list'"),
        ([True] * 4, "array of bool"),
        (np.ma.zeros(4, int), "actions are 'MaskedArray'"),
        (np.array([1, 2, 3, 4], np.dtype(np.int64).newbyteorder()), "give integers in this machine's byte order"),
        (np.array([0, 0, 0, 0]), "action 0 of environment 0 is illegal"),
    ]:
        with pytest.raises(ttt.UsageError, match=message):
            batch.step(actions)
        assert (batch.bitboards == before).all()
    batch = ttt.Batch(1, "3x3", autoreset="disabled")
    for action in (0, 3, 1, 4, 2):
        batch.step(np.array([action]))
    with pytest.raises(ttt.UsageError, match=r"its game is over; reset it first$"):
        batch.step(np.array([8]))
    gravity = ttt.Batch(1, "1x4x3-gravity")
    gravity.step(np.array([2]))
    with pytest.raises(ttt.UsageError, match="column is full"):
        gravity.step(np.array([2]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "uint8", "uint64"])
def test_actions_may_be_integers_of_any_width(kind: str):
    batch = ttt.Batch(4, "3x3", autoreset="disabled")
    batch.step(np.array([8, 7, 6, 5], kind))
    batch.step(np.array([8, 7, 6, 5, 4, 3, 2, 1], kind)[4:])
    with pytest.raises(ttt.UsageError, match="action 4 of environment 0 is illegal"):
        batch.step(np.array([4, 3, 2, 1], kind))


GOOD = {"planes": ((5, 2, 3, 3), np.uint8), "mask": ((5, 9), np.bool_), "rewards": ((5, 2), np.float32)}


def test_arrays_of_the_caller_are_used_and_checked():
    arrays = {name: np.ones(*how) for name, how in GOOD.items()}
    batch = ttt.Batch(5, seed=1, arrays=arrays)
    assert batch.planes is arrays["planes"]
    assert not arrays["planes"].any()
    assert play(ttt.Batch(5, seed=1), 20) == play(batch, 20)
    buffer = np.zeros(200, np.uint8)
    read_only = np.zeros((5, 9), np.bool_)
    read_only.flags.writeable = False
    for wrong, message in [
        ({"planes": np.zeros((5, 2, 3, 3), np.int8)}, "planes has the dtype int8: give a contiguous"),
        ({"mask": np.zeros((5, 3, 3), np.bool_)}, r"mask has the shape \(5, 3, 3\)"),
        ({"rewards": np.zeros((2, 5), np.float32).T}, "rewards is not contiguous"),
        ({"mask": read_only}, "mask is read-only"),
        ({"mask": [True]}, "mask is 'list', not an array"),
        ({"rewards": np.ma.zeros((5, 2), np.float32)}, "rewards is 'MaskedArray', not an array"),
        ({"masks": read_only}, r"unknown array 'masks' \(did you mean mask\?\)"),
        (
            {"planes": buffer[:90].reshape(5, 2, 3, 3), "mask": buffer[45:90].view(np.bool_).reshape(5, 9)},
            "planes and mask overlap",
        ),
    ]:
        with pytest.raises(ttt.UsageError, match=message):
            ttt.Batch(5, arrays=wrong)
    planes = ttt.Batch(5, dtype=bool).planes
    assert planes.dtype == np.bool_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n 0 is outside 1"),
        ({"board": "9x9x5"}, "81 cells; at most 64"),
        ({"board": "5x5x5", "opponent": "optimal"}, "too large to enumerate"),
        ({"opponent": "rnadom"}, r"unknown opponent 'rnadom' \(did you mean random\?\)"),
        ({"opponent": "random", "board": "3x3x1"}, "is over after one move"),
        ({"autoreset": "never"}, "unknown autoreset 'never'"),
        ({"illegal": "wins"}, "unknown illegal"),
        ({"dtype": np.float32}, "float32 are not supported"),
        ({"dtype": "uint9"}, "dtype 'uint9' are not supported"),
        ({"dtype": None}, "dtype None are not supported; choose uint8 or bool"),
        ({"arrays": [1]}, "arrays is 'list'; give a dictionary of arrays by name"),
        ({"first_env": -1}, "first_env -1 is outside"),
        ({"seed": "x"}, "seed 'x'"),
        ({"threads": 0}, "threads 0 is outside 1 .. 1,024"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str):
    with pytest.raises(ttt.UsageError, match=message):
        ttt.Batch(**{"n": 3} | options)


@pytest.mark.slow
def test_codes_end_at_39_cells():
    assert ttt.Batch(2, "3x13x3").codes.tolist() == [0, 0]
    with pytest.raises(ttt.BoardError, match="use bitboards"):
        _ = ttt.Batch(2, "5x8x4").codes


def test_a_run_of_another_board_is_no_opponent():
    with pytest.raises(ttt.UsageError, match="the opponent plays 3x3, and the boards are 4x4x4"):
        ttt.Batch(2, "4x4x4", opponent=ttt.train(100))


def test_games_are_learnt_from():
    """Recorded games of a batch give the same table as the same games in another notation."""
    batch, games = ttt.Batch(64, "4x4x3", autoreset="same-step", record=True), []
    while len(games) < 500:
        batch.step(batch.sample())
        games += batch.games()
    run, bad = ttt.learn_from(games, learner="td", board="4x4x3")
    assert run.games == len(games)
    assert not bad
    with pytest.raises(ttt.UsageError, match="record=True"):
        ttt.Batch(2).games()


@pytest.mark.parametrize("threads", [1, 2])
def test_rewards_of_those_who_moved(threads: int):
    batch = ttt.Batch(2500, "3x3", 7, "random", "same-step", threads=threads)
    seen = set()
    for _ in range(12):
        movers = batch.movers
        batch.step(batch.sample())
        rewards = batch.rewards_of(movers)
        assert rewards.tolist() == [float(batch.rewards[game, mover]) for game, mover in enumerate(movers)]
        seen |= {*zip(movers.tolist(), rewards.tolist(), strict=True)}
    assert seen == {(mover, reward) for mover in (0, 1) for reward in (-1.0, 0.0, 1.0)}
    for player in (2, -1):
        with pytest.raises(ttt.UsageError, match=f"player {player} of environment 2100 is none; give 0 or 1"):
            batch.rewards_of(np.where(np.arange(2500) < 2100, movers, player))
    for wrong in (movers[:2499], movers.astype(np.int8), movers.tolist(), None):
        with pytest.raises(
            ttt.UsageError, match=r"players .* give a contiguous, writable array of int64 with the shape"
        ):
            batch.rewards_of(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["strided", "unaligned", "read-only", "reversed"])
def test_actions_may_lie_in_any_way(layout: str):
    actions = np.array([3, 1, 4, 1, 5])
    bytes_ = np.zeros(41, np.uint8)
    given = bytes_[1:].view(np.int64) if layout == "unaligned" else actions.repeat(2)[::2]
    given = actions[::-1].copy()[::-1] if layout == "reversed" else given
    given[:] = actions
    given.flags.writeable = layout != "read-only"
    one, other = ttt.Batch(5), ttt.Batch(5)
    one.step(actions)
    other.step(given)
    assert (one.bitboards == other.bitboards).all()


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(("board", "opponent"), [("3x3", "optimal"), ("6x7x4-gravity", None)])
def test_a_copy_goes_on_alone(how: str, board: str, opponent: str | None):
    """From the same position to the same games, without touching the first one or the caller's arrays."""
    arrays = {"rewards": np.zeros((40, 2), np.float32)}
    first = ttt.Batch(40, board, 3, opponent, "same-step", arrays=arrays, keep_last=True, record=True)
    play(first, 7)
    bytes_ = [first.bitboards.tobytes(), first.planes.tobytes(), arrays["rewards"].tobytes(), first.games()]
    second = COPIES[how](first)
    assert second.games() == first.games()
    ahead = play(second, 25)
    assert bytes_ == [first.bitboards.tobytes(), first.planes.tobytes(), arrays["rewards"].tobytes(), first.games()]
    assert play(first, 25) == ahead
    assert second.games() == first.games()
    assert (second.last == first.last).all()
    assert not any(np.shares_memory(one, other) for one, other in zip(second._step, first._step, strict=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", ["3x3", "6x7x4"])
def test_a_copy_of_which_nothing_is_kept_goes_on_alone(board: str):
    first = ttt.Batch(300, board, 3, autoreset="same-step")
    play(first, 7)
    before = first.planes.tobytes()
    ahead = play(copy.deepcopy(first), 25)
    assert first.planes.tobytes() == before
    assert play(first, 25) == ahead


@pytest.mark.slow
@pytest.mark.parametrize("opponent", ["random", None])
def test_a_step_keeps_no_memory(opponent: str | None):
    """Neither Python's nor NumPy's: one object of Python's kept in each step would be 11 KB after 400 of them.

    The least of several turns counts: what else lives in the process may allocate meanwhile.
    """
    import gc
    import tracemalloc

    batch = ttt.Batch(100, "4x4x4", autoreset="same-step", opponent=opponent)
    actions = batch.sample()
    batch.step(actions)
    grown = []
    tracemalloc.start()
    for _ in range(4):
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(400):
            batch.sample(actions)
            batch.step(actions)
        gc.collect()
        grown.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    assert min(grown) < 8_000, grown


def test_the_number_of_boards_stays() -> None:
    batch = ttt.Batch(4)
    with pytest.raises(AttributeError):
        batch.n = 8  # type: ignore[misc]
    assert batch.n == len(batch.planes) == 4


def test_games_are_shown_as_text():
    batch = ttt.Batch(7, "3x3", 5, autoreset="disabled")
    for action in (0, 3, 1, 4, 2):
        batch.step([action] * 7)
    assert batch.render(6) == "XXX\nOO.\n...\nX has won\n"
    batch.reset([True, *[False] * 6])
    assert str(batch).splitlines() == [
        "Batch(7, '3x3', seed=5, autoreset='disabled')",
        "         ".join(["...", "XXX", "XXX", "XXX", "XXX"]),
        "         ".join(["...", "OO.", "OO.", "OO.", "OO."]),
        "         ".join(["..."] * 5),
        "   ".join(["X to move", *["X has won"] * 4]),
    ]
    with pytest.raises(ttt.UsageError, match=r"env 7 is outside 0 \.\. 6"):
        batch.render(7)


def test_observations_of_a_batch():
    boards = ttt.Batch(2, "3x3")
    boards.step(np.array([0, 1]))
    boards.step(np.array([4, 5]))
    boards.step(np.array([8, 7]))
    assert boards.observe("canonical").reshape(2, 9).tolist() == [
        [-1, 0, 0, 0, 1, 0, 0, 0, -1],
        [0, -1, 0, 0, 0, 1, 0, -1, 0],
    ]
    assert boards.observe("cells", "int64").reshape(2, 9).tolist() == [
        [1, 0, 0, 0, 2, 0, 0, 0, 1],
        [0, 1, 0, 0, 0, 2, 0, 1, 0],
    ]
    floats = boards.observe("planes-float32")
    assert floats.dtype == np.float32 and (floats == boards.planes).all()
    assert not np.may_share_memory(boards.observe(), boards.planes)
    agent = ttt.Batch(2, "3x3", 1, "random", seat="second", dtype=bool)
    assert agent.observe("cells").max() == 1 and agent.observe("canonical").min() == -1
    with pytest.raises(ttt.UsageError, match="unknown observation 'plane'"):
        boards.observe("plane")
