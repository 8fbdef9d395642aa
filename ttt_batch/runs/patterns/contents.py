"""Learnt contents of pattern networks, in memory and as the tables of a run file.

The file holds only weights that games have used, because most patterns never occur: on 6x5x4 about 5 % are used.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_batch.base.errors import RunFileError
from ttt_batch.patterns.fold import LARGEST

FOREIGN = "the file is damaged or foreign"

TABLES = {
    "network": ("uint8", "M", "the network of each weight that games have used, from 0"),
    "kind": ("int32", "M", "the number of the weight; weights that symmetry makes equal have one"),
    "player": ("uint8", "M", "whose move leads to the positions that the weight is for, 0 the first player's, else 1"),
    "weight": ("int32", "M", "the weight, in 2**-20"),
    "error": ("int64", "M", "the sum of all errors that the weight has seen, in 2**-20"),
    "absolute": ("int64", "M", "the sum of their absolute values"),
    "proved": (
        "int32",
        "M",
        "the weight when the player's seat was last proved; 0 if that seat does not play by it",
    ),
    "lost": ("int8", "L,{cells}", "lost games that proofs have found, cells in order, -1 after the end"),
    "lost_network": ("uint8", "L", "the network that lost them"),
}
"""Dtype, axes and meaning of each table.  A file has `proved` only if a seat was proved."""


class NetworkState(NamedTuple):
    """Learnt contents of a run's networks; `N` networks, `K` kinds of weights.

    weights: int32[N, K, P].  coherence: int64[N, K, P, 2], see `patterns.fold`.
    lost: for each network int8[lost games, cells], cells in order, -1 after the end.
    """

    weights: NDArray[np.int32]
    coherence: NDArray[np.int64]
    lost: tuple[NDArray[np.int8], ...]


def network_tables(learnt: NetworkState, proved: NDArray[np.int32] | None) -> dict[str, NDArray[Any]]:
    """Return the learnt contents as the tables of a file.

    proved: int32[K, P], the weights of each seat when it was last proved, or None.
    """
    used = np.nonzero(learnt.coherence[..., 1])
    network, kind, player = used
    tables = {
        "network": network.astype(np.uint8),
        "kind": kind.astype(np.int32),
        "player": player.astype(np.uint8),
        "weight": learnt.weights[used],
        "error": learnt.coherence[*used, 0],
        "absolute": learnt.coherence[*used, 1],
        "lost": np.concatenate(learnt.lost),
        "lost_network": np.repeat(np.arange(len(learnt.lost)), [len(lost) for lost in learnt.lost]).astype(np.uint8),
    }
    if proved is None:
        return tables
    return tables | {"proved": np.where(_plays(network, player, len(learnt.weights)), proved[kind, player], 0)}


def _plays(network: NDArray[Any], player: NDArray[Any], networks: int) -> NDArray[np.bool_]:
    """Return whether a player uses a network's weights; the first uses the first network, the second the last."""
    return np.asarray(network == player * (networks - 1))


def table_fields(cells: int, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the axes and meaning of tables, for the file of a board with `cells` cells."""
    return {name: (TABLES[name][1].format(cells=cells), TABLES[name][2]) for name in names}


def restore(
    tables: Mapping[str, NDArray[Any]], networks: int, kinds: int, cells: int
) -> tuple[NetworkState, NDArray[np.int32] | None]:
    """Return what a file's tables hold: the networks, and the proved weights (int32[K, P]) or None.

    Raises RunFileError for tables that training cannot have written.
    """
    _check_layout(tables, cells)
    used = tables["network"], tables["kind"], tables["player"]
    for name, limit in (("network", networks), ("kind", kinds), ("player", 2), ("lost_network", networks)):
        if ((tables[name] < 0) | (tables[name] >= limit)).any():
            raise RunFileError(f"tables/{name} holds a number that is not from 0 to {limit - 1:,}; {FOREIGN}")
    places = np.ravel_multi_index(tuple(one.astype(np.int64) for one in used), (networks, kinds, 2))
    if (np.diff(places) <= 0).any():
        raise RunFileError(f"tables/kind does not ascend; {FOREIGN}")
    if (tables["absolute"] <= 0).any() or (np.abs(tables["error"]) > tables["absolute"]).any():
        raise RunFileError(f"tables/error holds a sum beyond that of absolute values; {FOREIGN}")
    if (np.abs(tables["weight"].astype(np.int64)) > LARGEST).any():
        raise RunFileError(f"tables/weight holds a number beyond {LARGEST:,}; {FOREIGN}")
    weights, coherence = np.zeros((networks, kinds, 2), np.int32), np.zeros((networks, kinds, 2, 2), np.int64)
    weights[used] = tables["weight"]
    coherence[*used, 0], coherence[*used, 1] = tables["error"], tables["absolute"]
    lost = tuple(tables["lost"][tables["lost_network"] == number] for number in range(networks))
    if "proved" not in tables:
        return NetworkState(weights, coherence, lost), None
    network, kind, player = (one.astype(np.int64) for one in used)
    plays, proved = _plays(network, player, networks), np.zeros((kinds, 2), np.int32)
    if tables["proved"][~plays].any():
        raise RunFileError(f"tables/proved holds a weight by which no seat plays; {FOREIGN}")
    proved[kind[plays], player[plays]] = tables["proved"][plays]
    return NetworkState(weights, coherence, lost), proved


def _check_layout(tables: Mapping[str, NDArray[Any]], cells: int) -> None:
    """Raise RunFileError unless the tables are those of `TABLES` and every lost game is a valid sequence of cells."""
    for name, (dtype, axes, _) in TABLES.items():
        if name not in tables:
            if name != "proved":
                raise RunFileError(f"table {name!r} is missing; {FOREIGN}")
        elif tables[name].dtype != dtype or tables[name].ndim != len(axes.split(",")):
            raise RunFileError(f"tables/{name} is not {dtype}[{axes.format(cells=cells)}]; {FOREIGN}")
    odd = sorted(tables.keys() - TABLES.keys())
    if odd:
        raise RunFileError(f"tables/{odd[0][:40]} is not a table of pattern networks; {FOREIGN}")
    lengths = {len(tables[name]) for name in tables if TABLES[name][1] == "M"}
    if len(lengths) > 1 or len(tables["lost"]) != len(tables["lost_network"]) or tables["lost"].shape[1] != cells:
        raise RunFileError(f"the lengths of its tables do not agree; {FOREIGN}")
    for game in tables["lost"]:
        length = int((game >= 0).sum())
        moves = game[:length]
        legal = (moves >= 0).all() and (moves < cells).all() and len(set(moves.tolist())) == length
        if not legal or (game[length:] != -1).any():
            raise RunFileError(f"tables/lost holds an invalid game; {FOREIGN}")
