"""Reports of `boards` and `learners`."""

import sys
from collections.abc import Iterable
from typing import Any

from ttt_batch.analysis.boards import Entry
from ttt_batch.app.reports.layout import NAME_WIDTH, facts_text, hanging, paragraphs
from ttt_batch.core.errors import dashed
from ttt_batch.core.resources import parse_memory
from ttt_batch.core.text import PATTERN_LEARNERS, count_text, size_text
from ttt_batch.games.board import BOARD_NAMES, BOARD_RULES, MAX_TABLE_CELLS
from ttt_batch.games.solution import DRAWN, SOLVED, WON, is_certified
from ttt_batch.learners import LEARNERS
from ttt_batch.learners.base import Learner
from ttt_batch.ntuple.network import SHARING
from ttt_batch.ntuple.objectives import OBJECTIVES
from ttt_batch.runs.config import make_pattern_config, own_default
from ttt_batch.runs.options import NETWORK_GAMES, OPTIONS, OWN

NOTHING = "-"
"""Text of an empty entry of a board."""


def value_text(value: int | None) -> str:
    """Return who wins with best play, if the catalogue has it."""
    return {None: "not listed", DRAWN: "draw", WON: "first wins"}.get(value, "second wins")


def _memory(entry: Entry) -> str:
    if entry.space is None:
        return NOTHING
    return "as given" if entry.bytes is None else size_text(entry.bytes)


def _kept(entry: Entry) -> str:
    if entry.space is None:
        return NOTHING
    return ("grown" if entry.space.grown else "enumerated") + (" up to symmetry" if entry.space.symmetry else "")


def _positions(entry: Entry) -> str:
    if entry.space is None and not entry.board.gravity:
        return "too many to count"
    return f"up to {entry.most:,.3g}" if entry.positions is None else f"{entry.positions:,}"


def board_information(entry: Entry) -> dict[str, Any]:
    """Return the `boards --json` entry of one board."""
    return {
        "board": entry.board.name,
        "cells": entry.board.cells,
        "k": entry.board.k,
        "misere": entry.board.misere,
        "exact": entry.board.exact,
        "kept": None if entry.space is None else "grown" if entry.space.grown else "enumerated",
        "symmetry": None if entry.space is None else entry.space.symmetry,
        "symmetries": len(entry.board.symmetries),
        "positions": entry.positions,
        "positions_at_most": entry.most,
        "moves": entry.moves,
        "bytes": entry.bytes,
        "value": None if entry.value is None else value_text(entry.value),
        "source": entry.source,
        "proved_by_networks": is_certified(entry.board),
    }


def boards_text(entries: list[Entry]) -> str:
    """Return the text of `boards`, a line for each board."""
    lines = [f"board{'positions':>23}  {'memory':>8} {'best play':<15} kept"]
    sources = list(dict.fromkeys(entry.source for entry in entries if entry.source not in (None, SOLVED)))
    for entry in entries:
        mark = f" [{sources.index(entry.source) + 1}]" if entry.source in sources else ""
        mark += "*" * is_certified(entry.board)
        name, value = entry.board.name, value_text(entry.value) + mark
        found = f"{_positions(entry):>{28 - len(name)}}  {_memory(entry):>8} {value:<15} {_kept(entry)}"
        called = next((f" ({other})" for other, board in BOARD_NAMES.items() if board == name), "")
        lines.append(name + found + called)
    return "\n".join(
        [
            *lines,
            "",
            f"Best play without a number is {SOLVED}.",
            *(f"[{number}] {source}" for number, source in enumerate(sources, 1)),
            "* Pattern networks prove it, too: ttt-batch train --learner patterns",
            "",
            f"Tables learn to play any ROWSxCOLUMNSxK of up to {MAX_TABLE_CELLS} cells;",
            "ttt-batch boards 4x4x3 counts and solves one.",
            "Boards grown in play take what --max-memory gives them,",
            f"{size_text(parse_memory(None))} if it is not given.",
        ]
    )


def board_text(entry: Entry) -> str:
    """Return the text of `boards BOARD`."""
    board, images = entry.board, len(entry.board.symmetries)
    grown, symmetric = entry.space or (False, False)
    variant = "".join(f"; {BOARD_RULES[name].meaning}" for name in board.rules)
    rows = [
        ("board", f"{board.rows} rows, {board.cols} columns, {board.k} in a line{variant}"),
        ("symmetries", f"{images}"),
        ("positions", _positions(entry) + (" up to symmetry" if symmetric and entry.positions else "")),
        ("at most", f"{entry.most:,} by counting marks alone"),
        ("moves", NOTHING if entry.moves is None else f"{entry.moves:,}"),
        ("best play", value_text(entry.value)),
        ("source", entry.source or NOTHING),
        *([("proved", "by pattern networks, too (train --learner patterns)")] if is_certified(board) else []),
        ("kept", _kept(entry)),
        ("memory", f"{size_text(parse_memory(None))} unless --max-memory says more" if grown else _memory(entry)),
    ]
    return facts_text(rows)


def learner_description(name: str) -> dict[str, Any]:
    """Return the `learners --json` entry of one learner."""
    if name in PATTERN_LEARNERS:
        config = make_pattern_config(learner=name)
        own = {key: getattr(config, key) for key in ("epsilon", "alpha", "gamma")} | {"lambda": config.trace}
        own |= {"batch": config.batch, "prove_every": config.prove_every, "games": NETWORK_GAMES}
        return {"name": name, "source": SOURCES[name], "rule": RULES[name], **own}
    learner, defaults = LEARNERS[name], LEARNERS[name].defaults
    return {
        "name": name,
        "source": learner.source,
        "rule": learner.rule,
        "epsilon": defaults.epsilon,
        "alpha": defaults.alpha,
        "gamma": defaults.gamma,
        "draw_worth": list(defaults.draw_worth),
        **_own(learner),
        "games": learner.games,
        "choice": choice_text(learner),
        "tables": {name: {"axes": axes, "meaning": meaning} for name, (axes, meaning) in learner.fields.items()},
    }


def choice_text(learner: Learner) -> str:
    """Return a learner's choice rule in words."""
    if learner.choice.window:
        return f"uniform among moves within {learner.choice.window:g} of the best"
    return ("uniform among the best moves", "first of the best moves", "last of the best moves")[learner.choice.tie]


def learners_text(names: Iterable[str]) -> str:
    """Return the text of `learners`: a table of names, sources, rules and defaults."""
    lines = []
    for name in names:
        for label, text in zip((name, "", ""), _summary(name), strict=True):
            lines += hanging(label, text, NAME_WIDTH)
        lines.append("")
    return "\n".join(lines[:-1])


def _summary(name: str) -> tuple[str, str, str]:
    """Return source, rule and defaults of a learner."""
    if name in PATTERN_LEARNERS:
        config = make_pattern_config(learner=name)
        numbers = f"epsilon {config.epsilon:g}, alpha {config.alpha:g}, lambda {config.trace:g}"
        return SOURCES[name], RULES[name], f"{numbers}, {count_text(NETWORK_GAMES, 'game')}"
    learner = LEARNERS[name]
    d = learner.defaults
    played = "softmax of preferences" if learner.by_chances else f"epsilon {d.epsilon:g}"
    numbers = f"{played}, alpha {d.alpha:g}, gamma {d.gamma:g}, draw worth {_draw_worth(learner)}"
    if learner.by_beads:
        numbers = f"beads {d.beads}, rewards {d.rewards}, against random moves"
    numbers += f", lambda {d.lambda_:g}" if d.lambda_ is not None else ""
    return learner.source, learner.rule, f"{numbers}, {count_text(learner.games, 'game')}"


def learner_text(name: str) -> str:
    """Return the text of `learners NAME`: description of its file, choice rule, tables and options."""
    lines, given = _network_text(name) if name in PATTERN_LEARNERS else _table_text(LEARNERS[name])
    options = []
    for name, value, also in given:
        if value is not None:
            number = f" {value:g}" if isinstance(value, float) else f" {value}"
            options.append((f"{dashed(name)}{'' if OPTIONS[name].switch else number}", also))
    width = max(len(option) for option, _ in options) + 2
    lines += ["", "options and defaults", *(f"  {option:<{width}}{also}".rstrip() for option, also in options)]
    return "\n".join(lines)


Options = list[tuple[str, Any, str]]
"""Names of options, their defaults (None: the learner does not have it), and other values that they take."""


def _table_text(learner: Learner) -> tuple[list[str], Options]:
    """Return the description and the options of a learner with a table."""
    d = learner.defaults
    falling = "or 0.3->0.01:linear, 0.3->0.01:exp"
    options = [
        ("games", learner.games, ""),
        ("epsilon", None if learner.by_chances else d.epsilon, falling),
        ("alpha", None if learner.by_beads else d.alpha, f"{falling}, 1/n, 1/n^0.8"),
        ("gamma", None if learner.undiscounted else d.gamma, ""),
        ("draw_worth", None if learner.by_beads else _draw_worth(learner), ""),
        *((name, value, "") for name, value in _own(learner).items()),
    ]
    lines = [*paragraphs(sys.modules[learner.tables.__module__].__doc__ or ""), ""]
    lines += hanging("greedy moves", choice_text(learner), 16)
    for name, (axes, text) in learner.fields.items():
        lines += hanging(f"tables/{name:<9}", f"[{axes}] {text}", 16)
    return lines, options


def _network_text(name: str) -> tuple[list[str], Options]:
    """Return the description and the options of a learner of networks."""
    config = make_pattern_config(learner=name)
    own = {name: getattr(config, name) for name in ("epsilon", "alpha", "gamma", "trace", "batch", "prove_every")}
    words = {"tuples": "lines|lines+below|segments|segments:N|blocks:RxC|columns:N|FILE", "sharing": "|".join(SHARING)}
    options = {"games": NETWORK_GAMES, **own, **words, "objective": "|".join(OBJECTIVES)}
    head = [*hanging(name, SOURCES[name], 14), *hanging("", RULES[name], 14)]
    return [*head, "", *paragraphs(_EXPLAINED)], [(name, value, "") for name, value in options.items()]


def _own(learner: Learner) -> dict[str, Any]:
    """Return the learner's defaults of options that only some learners have."""
    return {name: value for name in OWN if (value := own_default(learner, name)) is not None}


def _draw_worth(learner: Learner) -> str:
    """Return the worth of a draw to the first and the second player, as the option takes it."""
    return ",".join(f"{number:g}" for number in learner.defaults.draw_worth)


SOURCES = {
    "patterns": "ours; n-tuple networks: Bledsoe and Browning 1959, in games Lucas 2008; temporal coherence: Beal and "
    "Smith 2000",
    "ntuple-td": "n-tuple networks by TD(lambda) and temporal coherence: Thill, Bagheri, Koch and Konen 2014",
}

RULES = {
    "patterns": "V(afterstate) -> the best child's value, by the sum of a weight for each tuple of cells",
    "ntuple-td": "V(afterstate) -> the lambda-return of the game, by the sum of a weight for each tuple of cells",
}

_EXPLAINED = f"""
A value is a sum of weights, one for each tuple of cells, by what stands on them, so that it says something of positions
never seen before. Each player's moves have a table of their own; images of a position share their weights.

Errors are whole numbers, added up over a batch of games that are played with the same weights. Every weight then moves
by its mean error, times the share of its errors that do not cancel out (temporal coherence).

The objective {" ".join(f"`{name}` {one.explained}" for name, one in OBJECTIVES.items())}

With --prove-every the moves that the networks prefer, with all that tie, are proved by search through every reply of
the opponent; the number of games is rounded up to the next proof. Half of the games then begin with moves of a game
that a proof found lost.

A game with a person (play --learn) or a given one (learn-from --run) is a batch of its own. It changes the weights by
which the run plays, so no proof counts after it, and training does not go on.
"""
