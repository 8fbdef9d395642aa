"""What `boards` and `learners` print."""

import sys
from typing import Any

from ttt_batch.analysis.boards import DRAWN, WON, Entry
from ttt_batch.app.reports.layout import hanging, paragraphs
from ttt_batch.base.memory import parse_memory
from ttt_batch.base.quantities import counted
from ttt_batch.learners.base import Learner


def value_text(value: int | None) -> str:
    """Who wins with best play."""
    return {None: "unknown", DRAWN: "draw", WON: "first wins"}.get(value, "second wins")


def _size(size: int | None) -> str:
    if size is None:
        return "as given"
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def _kept(entry: Entry) -> str:
    return ("grown in play" if entry.space.grown else "enumerated") + (
        " up to symmetry" if entry.space.symmetry else ""
    )


def _positions(entry: Entry) -> str:
    return f"up to {entry.most:,.3g}" if entry.positions is None else f"{entry.positions:,}"


def board_information(entry: Entry) -> dict[str, Any]:
    """What `boards --json` prints of one."""
    return {
        "board": entry.board.name,
        "cells": entry.board.cells,
        "k": entry.board.k,
        "misere": entry.board.misere,
        "exact": entry.board.exact,
        "kept": "grown" if entry.space.grown else "enumerated",
        "symmetry": entry.space.symmetry,
        "symmetries": len(entry.board.symmetries),
        "positions": entry.positions,
        "positions_at_most": entry.most,
        "moves": entry.moves,
        "bytes": entry.bytes,
        "value": None if entry.value is None else value_text(entry.value),
    }


def boards_text(entries: list[Entry]) -> str:
    """What `boards` prints: a line each."""
    lines = [f"{'board':<12} {'positions':>14}  {'memory':>9}  {'best play':<11} kept"]
    for entry in entries:
        cells = entry.board.name, _positions(entry), _size(entry.bytes), value_text(entry.value), _kept(entry)
        lines.append("{:<12} {:>14}  {:>9}  {:<11} {}".format(*cells))
    return "\n".join(
        [
            *lines,
            "",
            "Any ROWSxCOLUMNSxK of up to 36 cells can be played;",
            "ttt-batch boards 4x4x3 counts and solves one.",
            "Boards grown in play take what --max-memory gives them,",
            f"{_size(parse_memory(None))} if it is not given.",
        ]
    )


def board_text(entry: Entry) -> str:
    """What `boards BOARD` prints."""
    board, images = entry.board, len(entry.board.symmetries)
    rows = [
        ("board", f"{board.rows} rows, {board.cols} columns, {board.k} in a line" + _variant(entry)),
        ("symmetries", f"{images}"),
        ("positions", _positions(entry) + (" up to symmetry" if entry.space.symmetry and entry.positions else "")),
        ("at most", f"{entry.most:,} by counting marks alone"),
        ("moves", "-" if entry.moves is None else f"{entry.moves:,}"),
        ("best play", value_text(entry.value)),
        ("kept", _kept(entry)),
        ("memory", _size(entry.bytes) if entry.bytes else f"{_size(parse_memory(None))} unless --max-memory says more"),
    ]
    return "\n".join(f"{name:<11} {text}" for name, text in rows)


def _variant(entry: Entry) -> str:
    exact = "; a longer line does not count" if entry.board.exact else ""
    return exact + ("; the player who completes a line loses" if entry.board.misere else "")


def learner_description(learner: Learner) -> dict[str, Any]:
    """What `learners --json` prints of one."""
    defaults = learner.defaults
    return {
        "name": learner.name,
        "source": learner.source,
        "rule": learner.rule,
        "epsilon": defaults.epsilon,
        "alpha": defaults.alpha,
        "gamma": defaults.gamma,
        "draw_worth": list(defaults.draw_worth),
        "games": learner.games,
        "choice": choice_text(learner),
        "tables": {name: {"axes": axes, "meaning": meaning} for name, (axes, meaning) in learner.fields.items()},
    }


def choice_text(learner: Learner) -> str:
    """A learner's choice rule in words."""
    if learner.choice.window:
        return f"uniform among moves within {learner.choice.window:g} of the best"
    return ("uniform among the best moves", "first of the best moves", "last of the best moves")[learner.choice.tie]


def learners_text(chosen: list[Learner]) -> str:
    """What `learners` prints: a table of names, sources, rules and defaults."""
    lines = []
    for learner in chosen:
        d = learner.defaults
        numbers = f"epsilon {d.epsilon:g}, alpha {d.alpha:g}, gamma {d.gamma:g}, draw worth {_draw_worth(learner)}"
        lines += [
            *hanging(learner.name, learner.source, 14),
            *hanging("", learner.rule, 14),
            *hanging("", f"{numbers}, {counted(learner.games, 'game')}", 14),
            "",
        ]
    return "\n".join([*lines, "ttt-batch learners NAME tells more; ttt-batch train --learner NAME trains one"])


def learner_text(learner: Learner) -> str:
    """What `learners NAME` prints: the description of its file, its choice rule, tables and options."""
    d = learner.defaults
    falling = "or 0.3->0.01:linear, 0.3->0.01:exp"
    options = [
        (f"--games {learner.games}", ""),
        (f"--epsilon {d.epsilon:g}", falling),
        (f"--alpha {d.alpha:g}", f"{falling}, 1/n, 1/n^0.8"),
        (f"--gamma {d.gamma:g}", ""),
        (f"--draw-worth {_draw_worth(learner)}", ""),
    ]
    width = max(len(option) for option, _ in options) + 2
    fields = [hanging(f"tables/{name:<9}", f"[{axes}] {text}", 16) for name, (axes, text) in learner.fields.items()]
    return "\n".join(
        [
            *paragraphs(sys.modules[learner.tables.__module__].__doc__ or ""),
            "",
            *hanging("greedy moves", choice_text(learner), 16),
            *(line for lines in fields for line in lines),
            "",
            "options and defaults",
            *(f"  {option:<{width}}{also}".rstrip() for option, also in options),
        ]
    )


def _draw_worth(learner: Learner) -> str:
    """What a draw is worth to the first and to the second player, as an option takes it."""
    return ",".join(f"{number:g}" for number in learner.defaults.draw_worth)
