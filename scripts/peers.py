"""Measure another program's tic-tac-toe on one core of this machine, for the comparisons of `benchmark.py`.

    python scripts/peers.py NAME SECONDS

Runs under whichever interpreter has the peer and imports nothing of ttt-batch.  Plays for about SECONDS after a
warm-up that compiles what needs compiling, then prints one line of JSON: games, seconds, the core's seconds (fewer
where other processes used it too), games/s, the shares of first wins, draws and second wins, core, seed and versions.
Exit status 3: the peer is not installed (`NAME 0` finds out at the least cost).

| NAME | what plays |
|---|---|
| openspiel-learning | two tabular Q-learners against each other, as in OpenSpiel's tic-tac-toe example; epsilon 0.1 |
| openspiel-playouts | random play by the usual loop in Python: terminal?, legal actions, `random.choice`, apply |
| openspiel-bots | random play by OpenSpiel's own uniform bots, the loop over the game in C++: the fastest way found |
| pgx-random | random play by Pgx's own `act_randomly`, 1,000 games at a time inside one compiled function |
| pgx-tuned | the same with a cheaper way to choose the move: the fastest way found |
| pgx-steps | steps of 16,384 boards that Pgx resets by itself, counted as games are, with the cheaper choice of moves |
| pgx-BOARD-ENVS | the same with moves drawn before; BOARD is 3x3 or 6x7x4-gravity, ENVS 64, 4096 or 16384 |
| envpool-BOARD-ENVS | steps of EnvPool with moves drawn before, in each of its modes and numbers of threads |
| gymnasium-steps | steps of Gymnasium's `SyncVectorEnv` over 16 games in Python, counted as games are |
"""

import argparse
import importlib.metadata
import json
import os
import platform
import random
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

BATCH = 1_000
"""Games that Pgx plays side by side."""
REPLAYS = [(board, envs) for board in ("3x3", "6x7x4-gravity") for envs in (64, 4_096, 16_384)]
"""Boards and numbers of environments that step with recorded moves."""
WAYS = {
    f"{mode}, {label}": (mode, threads)
    for mode in ("sync", "async")
    for label, threads in (("1 thread", 1), ("2 threads", 2), ("default threads", 0))
}
"""EnvPool's modes and numbers of threads, by name; 0 is its default."""
SEED = time.time_ns() % 2**31
"""Another one each time, so that repeated runs are new samples."""

Outcomes = list[int]
"""First wins, draws and second wins."""
Play = Callable[[int], Outcomes]
"""Plays about that many games."""


class Peer(NamedTuple):
    """prepare: imports the packages and returns what plays, or several ways to play by name.

    games: per call, some hundredths of a second's work.
    """

    prepare: Callable[[], Play | dict[str, Play]]
    games: int
    packages: tuple[str, ...]


def openspiel_learning() -> Play:
    """Two learners, each stepped at its own turns and once more at the end of a game."""
    import numpy as np
    from open_spiel.python import rl_environment, rl_tools
    from open_spiel.python.algorithms.tabular_qlearner import QLearner

    np.random.seed(SEED)  # noqa: NPY002 - the learners draw from NumPy's global generator
    environment = rl_environment.Environment("tic_tac_toe")
    actions = environment.action_spec()["num_actions"]
    learners = [QLearner(seat, actions, epsilon_schedule=rl_tools.ConstantSchedule(0.1)) for seat in (0, 1)]

    def play(games: int) -> Outcomes:
        outcomes = [0, 0, 0]
        for _ in range(games):
            now = environment.reset()
            while not now.last():
                move = learners[now.observations["current_player"]].step(now)
                now = environment.step([move.action])
            for learner in learners:
                learner.step(now)
            outcomes[1 - int(now.rewards[0])] += 1
        return outcomes

    return play


def openspiel_playouts() -> Play:
    """The loop that OpenSpiel's introduction shows; NumPy's `choice` in it takes seven times as long."""
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")
    choice = random.Random(SEED).choice

    def play(games: int) -> Outcomes:
        outcomes = [0, 0, 0]
        for _ in range(games):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_action(choice(state.legal_actions()))
            outcomes[1 - int(state.player_return(0))] += 1
        return outcomes

    return play


def openspiel_bots() -> Play:
    """One call into C++ a game; nothing that Python can reach plays many games in one call as fast."""
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")
    bots = [pyspiel.make_uniform_random_bot(seat, SEED + seat) for seat in (0, 1)]

    def play(games: int) -> Outcomes:
        outcomes = [0, 0, 0]
        start, bout = game.new_initial_state, pyspiel.evaluate_bots
        for seed in range(games):  # the seed is for chance nodes; the bots keep generators of their own
            outcomes[1 - int(bout(start(), bots, seed)[0])] += 1
        return outcomes

    return play


def pgx_play(choose: Callable[[Any, Any], Any]) -> Play:
    """Batches one after the other inside one compiled function, each played until all its games are over.

    choose: from a key and the legal moves bool[game, cell], the moves int[game].  Stopping at the end of the batch is
    faster than the `auto_reset` wrapper, whose new start for each game costs more than the plies it saves.
    """
    import jax
    import jax.numpy as jnp
    import pgx

    env = pgx.make("tic_tac_toe")
    start, step = jax.vmap(env.init), jax.vmap(env.step)
    game = jnp.arange(BATCH)

    def batch(key: Any, _: None) -> tuple[Any, Any]:
        key, key_of_starts, key_of_moves = jax.random.split(key, 3)
        states = start(jax.random.split(key_of_starts, BATCH))
        first = states.current_player

        def ply(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            states, result, key = carry
            key, now = jax.random.split(key)
            states = step(states, choose(now, states.legal_action_mask))
            return states, result + states.rewards[game, first], key

        def unfinished(carry: tuple[Any, Any, Any]) -> Any:
            return ~carry[0].terminated.all()

        _, result, _ = jax.lax.while_loop(unfinished, ply, (states, jnp.zeros(BATCH), key_of_moves))
        return key, jnp.stack([(result > 0).sum(), (result == 0).sum(), (result < 0).sum()])

    def some(key: Any, numbers: Any) -> tuple[Any, Any]:
        key, outcomes = jax.lax.scan(batch, key, numbers)
        return key, outcomes.sum(0)

    batches = jax.jit(some)
    state = {"key": jax.random.key(SEED)}

    def play(games: int) -> Outcomes:
        state["key"], outcomes = batches(state["key"], jnp.arange(games // BATCH))
        return [int(count) for count in outcomes]

    return play


def pgx_random() -> Play:
    """With Pgx's own random player, which draws nine Gumbel numbers a game and ply."""
    warnings.simplefilter("ignore", DeprecationWarning)
    from pgx.experimental import act_randomly

    return pgx_play(act_randomly)


def tuned_choice(boards: int) -> Callable[[Any, Any], Any]:
    """One random number a board and ply: the k-th legal move."""
    import jax
    import jax.numpy as jnp

    def choose(key: Any, legal: Any) -> Any:
        count = legal.sum(1)
        k = (jax.random.uniform(key, (boards,)) * count).astype(jnp.int32)
        k = jnp.minimum(k, count - 1)  # single precision may round up to `count`
        return jnp.argmax(jnp.cumsum(legal, 1) > k[:, None], axis=1)

    return choose


def pgx_tuned() -> Play:
    """With `tuned_choice`."""
    return pgx_play(tuned_choice(BATCH))


def pgx_steps() -> Play:
    """All boards step together, and those whose game is over begin the next one in the same step."""
    warnings.simplefilter("ignore", DeprecationWarning)
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env, boards = pgx.make("tic_tac_toe"), 16_384
    step, choose = jax.vmap(auto_reset(env.step, env.init)), tuned_choice(boards)

    def one(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], Any]:
        states, key = carry
        key, now, starts = jax.random.split(key, 3)
        states = step(states, choose(now, states.legal_action_mask), jax.random.split(starts, boards))
        return (states, key), states.terminated.sum()

    many = jax.jit(lambda carry, numbers: jax.lax.scan(one, carry, numbers))
    key = jax.random.key(SEED)
    held = {"carry": (jax.vmap(env.init)(jax.random.split(key, boards)), key)}

    def play(steps: int) -> Outcomes:
        held["carry"], ended = many(held["carry"], jnp.arange(steps // boards))
        ended.block_until_ready()
        return [steps // boards * boards, 0, 0]

    return play


def gymnasium_steps() -> Play:
    """A game as people write it in Python, on arrays, under Gymnasium's vector environment."""
    import gymnasium
    import numpy as np

    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    class TicTacToe(gymnasium.Env):  # type: ignore[misc]
        observation_space = gymnasium.spaces.Box(0, 1, (2, 3, 3), np.uint8)
        action_space = gymnasium.spaces.Discrete(9)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.marks, self.mover = [None] * 9, 0
            return self.seen(), {"action_mask": np.ones(9, np.int8)}

        def seen(self) -> Any:
            players = [[mark == player for mark in self.marks] for player in (self.mover, 1 - self.mover)]
            return np.array(players, np.uint8).reshape(2, 3, 3)

        def step(self, action: Any) -> Any:
            self.marks[action] = mover = self.mover
            won = any(self.marks[a] == self.marks[b] == self.marks[c] == mover for a, b, c in lines)
            self.mover = 1 - mover
            over, mask = won or None not in self.marks, np.array([mark is None for mark in self.marks], np.int8)
            return self.seen(), float(won), over, False, {"action_mask": mask}

    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    boards = gymnasium.vector.SyncVectorEnv([TicTacToe] * 16, autoreset_mode=mode)
    chance = np.random.default_rng(SEED)
    held = {"mask": boards.reset()[1]["action_mask"]}

    def play(steps: int) -> Outcomes:
        for _ in range(steps // 16):
            actions = np.argmax(chance.random((16, 9)) * held["mask"], axis=1)
            held["mask"] = boards.step(actions)[4]["action_mask"]
        return [steps // 16 * 16, 0, 0]

    return play


def pgx_replay(board: str, boards: int) -> Play:
    """Steps from the start with recorded moves: choosing a move is not part of the work."""
    warnings.simplefilter("ignore", DeprecationWarning)
    import jax
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make({"3x3": "tic_tac_toe", "6x7x4-gravity": "connect_four"}[board])
    step, choose = jax.vmap(auto_reset(env.step, env.init)), tuned_choice(boards)
    key = jax.random.key(SEED)
    start = jax.vmap(env.init)(jax.random.split(key, boards))

    def draw(states: Any, key: Any) -> tuple[Any, Any]:
        actions = choose(key, states.legal_action_mask)
        return step(states, actions, jax.random.split(key, boards)), actions

    keys = jax.random.split(key, 50)
    _, recorded = jax.jit(lambda states: jax.lax.scan(draw, states, keys))(start)

    def one(states: Any, now: tuple[Any, Any]) -> tuple[Any, Any]:
        key, actions = now
        states = step(states, actions, jax.random.split(key, boards))
        return states, states.terminated.sum()

    many = jax.jit(lambda states, recorded: jax.lax.scan(one, states, (keys, recorded)))

    def play(steps: int) -> Outcomes:
        done = 0
        while done < steps:
            jax.block_until_ready(many(start, recorded))
            done += boards * len(keys)
        return [done, 0, 0]

    return play


def whole_games(task: str) -> tuple[Any, Any]:
    """Random legal moves of whole games in 1,024 environments, int32[step, env], and the steps of each environment.

    The step that begins the next game is among them; EnvPool ignores its move.
    """
    import envpool
    import numpy as np

    envs, steps, chance = 1_024, 128, np.random.default_rng(SEED)
    pool = envpool.make(task, env_type="gymnasium", num_envs=envs, num_threads=1)
    info = pool.reset()[1]
    actions, lengths = np.zeros((steps, envs), np.int32), np.zeros(envs, np.int64)
    for number in range(steps):
        legal = info["legal_action_mask"]
        actions[number] = np.argmax(chance.random(legal.shape) * legal, axis=1)
        info = pool.step(actions[number])[4]
        lengths[info["elapsed_step"] == 0] = number + 1
    return actions, lengths


def envpool_ways(board: str, envs: int) -> dict[str, Play]:
    """Each mode and number of threads.  In the asynchronous mode a step is one of the half that is ready first."""
    import envpool
    import numpy as np

    task = {"3x3": "TicTacToe-v1", "6x7x4-gravity": "ConnectFour-v1"}[board]
    actions, lengths = whole_games(task)

    def way(threads: int, batch: int) -> Play:
        pool = envpool.make(task, env_type="gymnasium", num_envs=envs, num_threads=threads, batch_size=batch)
        pool.async_reset()
        taken, source = np.zeros(envs, np.int64), np.arange(envs) % actions.shape[1]

        def play(steps: int) -> Outcomes:
            done = 0
            while done < steps:
                info = pool.recv()[4]
                who = info["env_id"]
                games = source[who]
                pool.send(actions[taken[who] % lengths[games], games], who)
                taken[who] += 1
                done += len(who)
            # An illegal move ends a game too early, and then the games no longer begin where the recorded ones do.
            begun = (taken[who] - 1) % lengths[games] == 0
            if info["elapsed_step"][begun].any():
                raise SystemExit("EnvPool's games differ from the recorded ones")
            return [done, 0, 0]

        return play

    return {name: way(threads, envs if mode == "sync" else envs // 2) for name, (mode, threads) in WAYS.items()}


PEERS = {
    "openspiel-learning": Peer(openspiel_learning, 100, ("open_spiel", "numpy")),
    "openspiel-playouts": Peer(openspiel_playouts, 2_000, ("open_spiel",)),
    "openspiel-bots": Peer(openspiel_bots, 5_000, ("open_spiel",)),
    "pgx-random": Peer(pgx_random, 20 * BATCH, ("pgx", "jax", "jaxlib")),
    "pgx-tuned": Peer(pgx_tuned, 50 * BATCH, ("pgx", "jax", "jaxlib")),
    "pgx-steps": Peer(pgx_steps, 16_384 * 20, ("pgx", "jax", "jaxlib")),
    "gymnasium-steps": Peer(gymnasium_steps, 1_600, ("gymnasium", "numpy")),
}
for board, envs in REPLAYS:
    replay, ways = partial(pgx_replay, board, envs), partial(envpool_ways, board, envs)
    PEERS[f"pgx-{board}-{envs}"] = Peer(replay, 50 * envs, ("pgx", "jax", "jaxlib"))
    PEERS[f"envpool-{board}-{envs}"] = Peer(ways, max(envs, 8_192), ("envpool", "numpy"))


def pin() -> int | None:
    """Keep this process and every thread it starts from now on to one core; say which, or None where that cannot be."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def measure(play: Play, games: int, seconds: float) -> dict[str, Any]:
    """Play `games` at a time, once at least, until `seconds` are over, after a tenth of that to warm up."""
    play(games)  # compiles
    start = time.perf_counter()
    while time.perf_counter() - start < seconds / 10:
        play(games)
    outcomes, spent = [0, 0, 0], 0.0
    start, start_of_work = time.perf_counter(), time.process_time()
    while not any(outcomes) or spent < seconds:
        outcomes = [a + b for a, b in zip(outcomes, play(games), strict=True)]
        spent = time.perf_counter() - start
    worked = time.process_time() - start_of_work
    played = sum(outcomes)
    shares = {name: count / played for name, count in zip(("first", "draw", "second"), outcomes, strict=True)}
    return {"games": played, "seconds": spent, "cpu seconds": worked, "games/s": played / spent, **shares}


def main() -> None:
    """Measure the named peer and print the line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", metavar="NAME", choices=PEERS, help=", ".join(PEERS))
    parser.add_argument("seconds", metavar="SECONDS", type=float, help="how long to play")
    options = parser.parse_args()
    peer = PEERS[options.name]
    # Before JAX starts its threads, so that they share the one core; EnvPool's number of threads is measured itself.
    core = None if options.name.startswith("envpool") else pin()
    os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        play = peer.prepare()
    except ImportError as error:
        print(f"{options.name} cannot run ({error}); pip install {' '.join(peer.packages)}", file=sys.stderr)
        raise SystemExit(3) from None
    versions = {"python": platform.python_version()}
    versions |= {package: importlib.metadata.version(package) for package in peer.packages}
    if isinstance(play, dict):
        values: dict[str, Any] = {"ways": {way: measure(one, peer.games, options.seconds) for way, one in play.items()}}
    else:
        values = measure(play, peer.games, options.seconds)
    print(json.dumps(values | {"core": core, "seed": SEED, "versions": versions}))


if __name__ == "__main__":
    main()
