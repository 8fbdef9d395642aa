"""Arrays of the tables or network weights that a study keeps of each learner."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ttt_batch.base.errors import UsageError, flag
from ttt_batch.game.graph import rows_of_edges
from ttt_batch.learners import learner_named
from ttt_batch.runs.patterns.contents import TABLES as MEANINGS
from ttt_batch.runs.runfile.declaration import FIELDS, TABLE_UNIT
from ttt_batch.studies.designs.networks import NETWORKS
from ttt_batch.studies.designs.tables import TABLES
from ttt_batch.studies.designs.tallies import TALLIES
from ttt_batch.studies.storage.declared import LETTERS, NONE, Array, fixed

if TYPE_CHECKING:
    from ttt_batch.studies.designs.family import Setting


def snapshot_arrays(settings: Sequence["Setting"], sizes: Mapping[str, int]) -> Iterator[Array]:
    """Yield the arrays kept for settings of one family.

    sizes: lengths of the shared axes.  Raises UsageError for tables without a fixed size.
    """
    grouped, arrays = _KEPT[settings[0].family.name]
    for name, group in grouped(settings).items():
        yield from arrays(f"tables/{name}", [settings[i] for i in group], group, sizes)


def _table_groups(settings: Sequence["Setting"]) -> dict[str, list[int]]:
    """Return settings grouped by equal arrays of tables, by group name.  Raises UsageError for growing boards."""
    groups: dict[str, list[int]] = {}
    for i, setting in enumerate(settings):
        config = setting.config
        if config.grown:
            raise UsageError(
                f"the table on {config.board.name} grows during learning, so a study cannot keep it; choose "
                f"{flag('keep', NONE)}, or leave this board out"
            )
        name = f"{config.learner}-{config.board.name}"
        name += ("-symmetry" if config.symmetry else "") + ("-visits" if config.alpha.power else "")
        groups.setdefault(name, []).append(i)
    return groups


def _of_tables(
    path: str, settings: Sequence["Setting"], numbers: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[Array]:
    """Yield the arrays of settings with the same tables.  path: their group.  numbers: of the settings."""
    config = settings[0].config
    learner, graph = learner_named(config.learner), config.graph
    own = {"table_setting": np.array(numbers), "row": np.arange(graph.code.size)}
    meanings = {"table_setting": "number of the setting", "row": "number of the position"}
    tables = learner.fresh(graph, config.settings, np.random.default_rng(0))._asdict()
    fields = dict(learner.fields)
    if config.alpha.power:
        first = next(iter(tables))
        tables["visits"] = np.zeros(tables[first].shape)
        fields["visits"] = (fields[first][0], "how often the entry was updated")
    axes = {name: [LETTERS.get(axis, f"entry{axis}") for axis in fields[name][0].split(",")] for name in tables}
    for name, table in tables.items():
        for axis, length in zip(axes[name], table.shape, strict=True):
            if axis not in sizes and axis not in own:
                own[axis], meanings[axis] = np.arange(length), f"number of the {re.sub('_', ' ', axis)}"
    for axis, content in own.items():
        yield fixed(f"{path}/{axis}", [axis], content, meanings[axis])
    states = {field.name: field for field in FIELDS if field.group == "states"}
    for name in ("code", "outcome"):
        yield fixed(f"{path}/{name}", ["row"], getattr(graph, name), states[name].meaning)
    if "edge" in own:
        yield fixed(f"{path}/edge_row", ["edge"], rows_of_edges(graph), "row of the position that the move is made in")
        yield fixed(f"{path}/cell", ["edge"], graph.cell, states["cell"].meaning)
    for name, table in tables.items():
        shape = len(numbers), sizes["seed"], *table.shape
        kind = table.dtype.newbyteorder("<")
        yield Array(f"{path}/{name}", kind, ("table_setting", "seed", *axes[name]), shape, fields[name][1], TABLE_UNIT)


def _network_groups(settings: Sequence["Setting"]) -> dict[str, list[int]]:
    """Return settings grouped by equal shapes of networks, by group name."""
    shapes: dict[tuple[object, ...], list[int]] = {}
    for i, setting in enumerate(settings):
        config = setting.config
        shape = config.learner, config.board, config.tuples, config.sharing, len(config.aims)
        shapes.setdefault(shape, []).append(i)
    first = [settings[group[0]].config for group in shapes.values()]
    names = [f"{config.learner}-{config.board.name}-{number}" for number, config in enumerate(first)]
    return dict(zip(names, shapes.values(), strict=True))


def _of_networks(
    path: str, settings: Sequence["Setting"], numbers: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[Array]:
    """Yield the arrays of a group of settings whose networks have the same shape.  Parameters as for `_of_tables`."""
    config = settings[0].config
    networks, kinds = len(config.aims), config.network().kind_start.size - 1
    labels = {"table_setting": np.array(numbers), "network": np.arange(networks), "kind": np.arange(kinds)}
    meanings = {
        "table_setting": "number of the setting",
        "network": "number of the network",
        "kind": MEANINGS["kind"][2],
    }
    for axis, content in labels.items():
        yield fixed(f"{path}/{axis}", [axis], content, meanings[axis])
    for name, axes in (("weight", ("network", "kind", "seat")), ("proved", ("kind", "seat"))):
        shape = [labels[axis].size if axis in labels else sizes[axis] for axis in axes]
        whole = len(numbers), sizes["seed"], *shape
        meaning = MEANINGS[name][2] if name == "weight" else "the weight when the player's seat was last proved, else 0"
        yield Array(f"{path}/{name}", np.dtype("<i4"), ("table_setting", "seed", *axes), whole, meaning)


_Groups = Callable[[Sequence["Setting"]], dict[str, list[int]]]
_Arrays = Callable[[str, Sequence["Setting"], Sequence[int], Mapping[str, int]], Iterator[Array]]

_KEPT: Mapping[str, tuple[_Groups, _Arrays]] = {
    TABLES.name: (_table_groups, _of_tables),
    NETWORKS.name: (_network_groups, _of_networks),
    TALLIES.name: (_table_groups, _of_tables),
}
