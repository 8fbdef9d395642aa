"""The file of a study: what is stored is there, and nothing else; it is a valid file at any moment."""

import contextlib
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from helpers.studyfiles import (
    MIXED,
    assert_stored,
    design,
    missing,
    results,
    same_results,
    store,
    store_all,
    with_header,
)

import ttt_batch as ttt
from ttt_batch.core.errors import StudyFileError, UsageError
from ttt_batch.core.resources import module_environment
from ttt_batch.runs.storage.declaration import EXACT_COLUMNS
from ttt_batch.studies import checks
from ttt_batch.studies.checks import check_study
from ttt_batch.studies.designs.methods import points_of
from ttt_batch.studies.storage import writing
from ttt_batch.studies.storage.header import STUDY_FILE, digest_of, read_header
from ttt_batch.studies.storage.layout import DONE, FAILED, MISSING, PROGRESS_BYTES, REASONS, layout_size, study_layout
from ttt_batch.studies.storage.reading import open_study
from ttt_batch.studies.storage.writing import OTHER_REASON, StudyWriter, create_study, extend_study, resume_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.h5"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a study all of whose learners are done."""
    path = tmp_path_factory.mktemp("whole") / "study.h5"
    with create_study(path, design(), command="ttt-batch study") as study:
        store_all(study)
    return path.read_bytes()


@pytest.fixture
def full(path: Path, whole: bytes) -> Path:
    """A study all of whose learners are done, to be changed."""
    path.write_bytes(whole)
    return path


@contextlib.contextmanager
def disk_of(size: int) -> Iterator[None]:
    """The system refuses files of more bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def refused(path: Path) -> str:
    """The one line with which a file is refused; `check` says the same."""
    with pytest.raises(StudyFileError) as error:
        open_study(path)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- what is in it ----------------------------------------------------------------------------------------


def test_a_new_file_has_all_settings_and_no_learner(path):
    asked = design()
    with create_study(path, asked, command="ttt-batch study") as study:
        assert study.design == asked
        assert study.keys == [setting.key for setting in asked.settings]
        assert missing(study) == [(i, j) for i in range(8) for j in range(6)]
        assert study.provenance["command"] == "ttt-batch study"
        assert np.isnan(study.array("best_response")).all()
    assert STUDY_FILE.begins(path) and not STUDY_FILE.begins(path.parent)
    assert [name.name for name in path.parent.iterdir()] == [path.name]
    findings, notes, _ = check_study(path)
    assert not findings and notes == ("48 learners missing",)


def test_points_are_those_that_training_records():
    for batch, games in ((500, 10_000), ("auto", 100_000), (20, 700)):
        run = ttt.train(games, batch=batch)
        assert points_of(run.config.batches, games) == run.statistics["games"].tolist()


def test_what_is_stored_is_there_and_nothing_else(path):
    with create_study(path, design()) as study:
        store(study, 3, 2)
        store(study, 6, 5)
        before = study.array("value_error")
    with open_study(path) as study:
        for setting, seed in ((3, 2), (6, 5)):
            assert_stored(study, setting, seed)
        others = study.state != DONE
        assert np.count_nonzero(~others) == 2
        assert np.isnan(before[others]).all() and not study.array("outcomes")[others].any()
        assert len(missing(study)) == 46
    assert not check_study(path)[0]


@pytest.mark.slow
def test_many_at_once_in_any_order_are_the_same_as_one_by_one(full, tmp_path):
    other = tmp_path / "other.h5"
    with create_study(other, design()) as study:
        every = missing(study)
        np.random.default_rng(1).shuffle(every)
        for setting, seed in every:
            store(study, setting, seed)
    assert same_results(full, other)
    mixed = tmp_path / "mixed.h5"
    with create_study(mixed, design()) as study:
        for points in set(study.points.tolist()):
            alike = [(setting, seed) for setting, seed in every if study.points[setting] == points]
            own = [results(study, setting, seed) for setting, seed in alike]
            names = own[0].keys() - {"games"}
            study.store_many(*np.transpose(alike), {name: np.stack([one[name] for one in own]) for name in names})
    assert same_results(full, mixed)


def test_results_of_another_kind_are_refused(path):
    with create_study(path, design()) as study:
        right = results(study, 0, 0)
        wrong: list[dict[str, Any]] = [
            {**right, "seconds": right["seconds"].astype(np.float32)},
            {**right, "worst": right["worst"][:-1]},
            {name: column for name, column in right.items() if name != "worst"},
            {**right, "positions": right["games"]},
        ]
        for statistics in wrong:
            with pytest.raises(ValueError):
                store(study, 0, 0, statistics)
        with pytest.raises(ValueError):
            store(study, 0, 0, right, {"value": np.zeros(5478)})
        for setting, seed in ((-1, 0), (0, -1)):
            with pytest.raises(ValueError):
                store(study, setting, seed, right)
        for setting, seed in ((8, 0), (0, 6)):
            with pytest.raises(IndexError):
                store(study, setting, seed, right)
        assert (study.array("state") == MISSING).all()


def test_statistics_and_tables_of_training_come_back_byte_for_byte(path):
    options: dict[str, Any] = {"alpha": ["0.2", "1/n"], "learner": "td,minimax-q"}
    asked = design(seeds="7..8", games=3_000, batch=500, **options)
    runs = {}
    with create_study(path, asked, keep="last") as study:
        for i, j in missing(study):
            config = asked.settings[i].config_for(asked.seeds[j])
            run = runs[i, j] = ttt.train(3_000, learner=config.learner, alpha=config.alpha, batch=500, seed=config.seed)
            store(study, i, j, run.statistics, {name: run.data().tables[name] for name in run.data().tables})
    assert not check_study(path)[0]
    with h5py.File(path) as file:
        assert sorted(file["tables"]) == ["minimax-q-3x3", "minimax-q-3x3-visits", "td-3x3", "td-3x3-visits"]
        for (i, j), run in runs.items():
            for name, column in run.statistics.items():
                stored = file[name][i] if name == "games" else file[name][i, j]
                assert stored.tobytes() == column.tobytes()
            name = run.config.learner + "-3x3" + ("-visits" if run.config.alpha.power else "")
            group = file["tables"][name]
            own = group["table_setting"][:].tolist().index(i)
            assert group["code"][:].tobytes() == run.graph.code.tobytes()
            for table, values in run.data().tables.items():
                assert group[table][own, j].tobytes() == values.tobytes()


def test_boards_that_grow_have_their_own_statistics(path, tmp_path):
    asked = design(board="3x3,5x5", games=1_000, batch=500)
    with create_study(path, asked) as study:
        store_all(study)
        growing = study.array("growing")
        assert growing.tolist() == [False, True]
        assert np.isnan(study.array("best_response")[growing]).all()
        assert not study.array("positions")[~growing].any() and study.array("positions")[growing].all()
    assert not check_study(path)[0]
    with create_study(tmp_path / "grown.h5", design(board="5x5", games=1_000)) as study:
        assert not set(EXACT_COLUMNS) & set(study.header.arrays)
    with pytest.raises(UsageError, match="5x5"):
        create_study(tmp_path / "kept.h5", asked, keep="last")


def test_a_file_that_is_replaced_is_checked_as_it_was_opened(path, tmp_path, monkeypatch):
    """A study with more settings replaces its file, perhaps between two looks of a check."""
    create_study(path, design()).close()
    create_study(tmp_path / "more.h5", design(alpha="0.1,0.2,0.3,0.4,0.5")).close()

    def opened(name):
        study = open_study(name)
        (tmp_path / "more.h5").replace(path)
        return study

    monkeypatch.setattr(checks, "open_study", opened)
    assert not check_study(path)[0]


def test_the_size_is_known_before(path):
    asked = design()
    with create_study(path, asked, keep="last"):
        expected = layout_size(study_layout(asked, "", "last"))
        assert expected < path.stat().st_size < expected + 60_000


# --- failures ---------------------------------------------------------------------------------------------


def test_failures_have_their_reasons_and_are_missing(path):
    with create_study(path, design()) as study:
        study.fail(1, 2, "no memory\nfor it")
        study.fail(1, 3, "no memory\nfor it")
        study.fail(2, 0, "ä" * 1000)
    with resume_study(path) as study:
        assert [(i, j) for i, j, _ in study.failures()] == [(1, 2), (1, 3), (2, 0)]
        assert [reason for *_, reason in study.failures()][:2] == ["no memory\\nfor it"] * 2
        assert study.state[1, 2] == FAILED and (1, 2) in missing(study)
        assert check_study(path)[:2] == ([], ("45 learners missing", "3 learners failed"))
        store_all(study)
        assert not list(study.failures()) and not study.array("reason").any()


@pytest.mark.slow
def test_any_number_of_reasons(path):
    with create_study(path, design(seeds=200, **MIXED)) as study:
        for number in range(600):
            study.fail(*divmod(number, 200), f"reason {number}")
        reasons = [reason for *_, reason in study.failures()]
        assert reasons[: REASONS - 2] == [f"reason {number}" for number in range(REASONS - 2)]
        assert set(reasons[REASONS - 2 :]) == {OTHER_REASON}
        for number in range(500):
            store(study, *divmod(number, 200), results(study, *divmod(number, 200)))
    with resume_study(path) as study:  # reasons that no learner has any more give their room to others
        study.fail(0, 0, "something new")
        assert next(study.failures()) == (0, 0, "something new")


# --- whatever happens -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_while_it_stores(tmp_path, kills):
    """Killed at any moment the file is valid; resumed it is what it would have been."""
    killed, whole = tmp_path / "killed.h5", tmp_path / "whole.h5"
    asked = design(seeds=40, **MIXED)
    create_study(killed, asked).close()
    with create_study(whole, asked) as study:
        store_all(study)
    driver = Path(__file__).parents[1] / "helpers" / "killed_storing.py"
    done = subprocess.run(
        [sys.executable, driver, killed, str(kills)], env=module_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    counts = [int(count) for count in done.stdout.split()]
    assert counts == sorted(counts) and counts[-1] > 0
    assert same_results(killed, whole)
    assert not check_study(killed)[0]


def test_what_is_half_written_is_done_again(full):
    """As a power cut may leave it: a state says done, and the results are not there."""
    with open_study(full) as study:
        place = study.header.arrays["best_response"]
        seconds = study.header.arrays["seconds"]
        expected = study.array("best_response")
    content = bytearray(full.read_bytes())
    learner = 5 * 6 + 4
    at = place.offset + learner * (place.nbytes() // 48)
    content[at : at + 16] = bytes(16)
    content[seconds.offset] ^= 1  # measured, not computed: no checksum covers it
    full.write_bytes(content)
    findings, *_ = check_study(full)
    assert len(findings) == 1 and "1 learner, the first: setting 5, seed 4" in findings[0]
    with resume_study(full) as study:
        assert study.damaged == 1 and missing(study) == [(5, 4)]
        store_all(study)
        assert study.array("best_response").tobytes() == expected.tobytes()
    assert not check_study(full)[0]


def test_one_writer_at_a_time_and_any_number_of_readers(path):
    with create_study(path, design()) as study:
        with pytest.raises(StudyFileError, match="being written"):
            resume_study(path)
        with pytest.raises(StudyFileError, match="being written"):
            extend_study(path, design(seeds=9))
        with open_study(path) as reader, h5py.File(path) as file:
            store(study, 0, 0)
            assert file["state"][0, 0] == DONE == reader.array("state")[0, 0]
    resume_study(path).close()


def test_a_file_removed_meanwhile_is_noticed(path):
    with create_study(path, design()) as study:
        study.sync()
        path.unlink()
        with pytest.raises(StudyFileError, match="removed or replaced"):
            store(study, 0, 0)  # at once: hours of work would be lost
        with pytest.raises(StudyFileError, match="removed or replaced"):
            study.sync()


def test_notes_go_on(path):
    with create_study(path, design()) as study:
        study.note(ended="2026-01-01", seconds=1.5)
        study.note(seconds=2.5)
        with pytest.raises(ValueError, match="room"):
            study.note(long="x" * 5000)
    with open_study(path) as study:
        assert study.progress == {"ended": "2026-01-01", "seconds": 2.5}
        offset = study.header.arrays["provenance/progress"].offset
    texts = ['{"seconds": NaN}', '{"seconds": 1e999}', '{"seconds": "x"}', "[2.5]", '{"seconds": 1e308}']
    texts += ['{"seconds": -1.0}', '{"ended": ["x"]}', '{"ended": 3}', '{"more": {}}']
    for damaged in (*(text.encode() for text in texts), b"\xff", b'{"ended": "\xff"'):
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(damaged.ljust(PROGRESS_BYTES, b"\0"))
        with open_study(path) as study:
            assert study.progress == {}
        assert "provenance/progress is malformed" in check_study(path)[0][0]


def test_a_damaged_reason_is_shown_as_far_as_it_can_be_read(path):
    with create_study(path, design()) as study:
        study.fail(0, 0, "no room")
        offset = study.header.arrays["provenance/reasons"]
        at = offset.offset + offset.dtype.itemsize
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xff")
    with open_study(path) as study:
        assert [reason for *_, reason in study.failures()] == ["\N{REPLACEMENT CHARACTER}o room"]
    assert check_study(path)[0] == []


def test_a_disk_too_small_is_one_line_and_leaves_nothing(path, monkeypatch):
    with disk_of(200_000), pytest.raises(StudyFileError, match="bytes of its results; make room"):
        create_study(path, design(seeds=1000, **MIXED))
    assert not list(path.parent.iterdir())
    create_study(path, design()).close()
    monkeypatch.setattr(writing, "allocate", lambda file, _: os.posix_fallocate(file, 0, 1 << 62))
    with pytest.raises(StudyFileError, match=r"for the \d+,\d+ bytes"):
        create_study(path, design(), overwrite=True)


def test_what_the_disk_refuses_is_not_done(path):
    with create_study(path, design()) as study:
        with disk_of(1_000), pytest.raises(StudyFileError, match="make room"):
            store(study, 0, 0)
        assert study.state[0, 0] == MISSING
        store_all(study)
    assert not check_study(path)[0]


def test_an_existing_file_is_kept_unless_it_is_to_be_replaced(path):
    path.write_text("mine")
    with pytest.raises(StudyFileError, match="exists already"):
        create_study(path, design())
    assert path.read_text() == "mine"
    create_study(path, design(), overwrite=True).close()
    assert STUDY_FILE.begins(path)


# --- more of it -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_extended_study_has_all_that_was_done(full, tmp_path):
    larger = design(seeds=11).extended(alpha="0.1,0.5,0.3", games="1000,3000,9000")
    larger = design().extended_to(larger)
    with resume_study(full) as study:
        study.fail(0, 0, "no memory")
        study.note(seconds=3.0)
    with extend_study(full, larger, command="again") as study:
        assert study.design == larger and study.games.shape[1] > 3
        assert np.count_nonzero(study.state == DONE) == 47 and not (study.state == FAILED).any()
        assert study.provenance["command"] == "ttt-batch study"
        assert study.provenance["extended_by"] == "again" and study.progress == {"seconds": 3.0}
        for setting, seed in ((0, 1), (7, 5), (4, 3)):
            assert_stored(study, setting, seed)
        store_all(study)
    whole = tmp_path / "whole.h5"
    with create_study(whole, larger) as study:
        store_all(study)
    assert same_results(full, whole) and not check_study(full)[0]
    assert sorted(name.name for name in full.parent.iterdir()) == ["study.h5", "whole.h5"]


def test_an_extension_that_is_interrupted_leaves_the_old_file(full, monkeypatch):
    before = full.read_bytes()

    def interrupted(new: StudyWriter, *_: Any) -> None:
        store(new, 0, 0)
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "_take_over", interrupted)
    with pytest.raises(KeyboardInterrupt):
        extend_study(full, design(seeds=9, **MIXED))
    assert full.read_bytes() == before and list(full.parent.iterdir()) == [full]
    monkeypatch.undo()
    extend_study(full, design(seeds=9, **MIXED)).close()


def test_an_extension_that_fails_leaves_the_old_file(full):
    before = full.read_bytes()
    with pytest.raises(StudyFileError, match="would leave out"):
        extend_study(full, design(seeds="0..4,9"))
    with pytest.raises(StudyFileError, match="would leave out"):
        extend_study(full, design(**{**MIXED, "batch": "500,21"}))
    with disk_of(200_000), pytest.raises(StudyFileError, match="make room"):
        extend_study(full, design(seeds=1000, **MIXED))
    assert full.read_bytes() == before and list(full.parent.iterdir()) == [full]


# --- damaged, foreign, hostile ----------------------------------------------------------------------------


@pytest.mark.slow
def test_every_changed_byte_of_what_never_changes_is_found(full):
    content = full.read_bytes()
    with open_study(full) as study:
        results_at = np.zeros(len(content), bool)
        for place in study.header.arrays.values():
            results_at[place.offset : place.offset + place.nbytes()] = place.results
    fixed = np.flatnonzero(~results_at)
    rng = np.random.default_rng(0)
    with full.open("r+b") as file:
        for at in [*range(250), *rng.choice(fixed, 250, replace=False).tolist(), int(fixed[-1])]:
            file.seek(at)
            file.write(bytes([content[at] ^ (1 << int(rng.integers(8)))]))
            file.flush()
            with pytest.raises(StudyFileError):
                open_study(full)
            file.seek(at)
            file.write(content[at : at + 1])
    assert not check_study(full)[0]


def test_every_changed_byte_of_a_result_is_found(full):
    content = full.read_bytes()
    rng = np.random.default_rng(0)
    with open_study(full) as study:
        places = {path: place for path, place in study.header.arrays.items() if path in EXACT_COLUMNS}
        most, learners = study.games.shape[1], np.repeat(study.points, study.seeds.size)
    for place in places.values():
        for learner in rng.integers(0, 48, 5).tolist():
            record = place.nbytes() // 48
            at = place.offset + learner * record + int(rng.integers(record // most * learners[learner]))
            changed = bytearray(content)
            changed[at] ^= 1 << int(rng.integers(8))
            full.write_bytes(changed)
            assert "checksum" in check_study(full)[0][0]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("best_response", 0.5, "best_response is above 0 although unbeatable is true"),
        ("versus_random", 1 / 3, "versus_random does not agree with worst"),
        ("value_error", -1.0, "value_error holds a number below 0 or an infinite one"),
        ("seconds", 1e308, "seconds beyond 1e+11"),
    ],
)
def test_results_that_contradict_each_other_are_found_whatever_their_checksum(path, name, value, finding):
    with create_study(path, design()) as study:
        forged = results(study, 0, 0)
        forged["worst"][:] = 0
        forged["unbeatable"][:] = True
        forged["versus_random"][:] = forged["self_play"][:] = [0.0, 1.0, 0.0]
        forged["best_response"][:] = 0.0
        forged[name][:] = value
        store(study, 0, 0, forged)
    assert any(line.startswith(f"{path}: {finding}") for line in check_study(path)[0])


def test_results_that_kept_tables_contradict_are_found_whatever_their_checksum(tmp_path):
    ttt.study(out=tmp_path / "s.h5", keep="last", learner="td,menace", games=200, seeds=1)
    with open_study(tmp_path / "s.h5") as study:
        blocks, asked = list(study.blocks()), study.design
    for forged in (False, True):
        path = tmp_path / f"{forged}.h5"
        with create_study(path, asked, keep="last") as study:
            for block in blocks:
                for number, setting in enumerate(block.settings.tolist()):
                    found = {name: column[number].copy() for name, column in block.statistics.items()}
                    found["optimal_share"][-1] -= 0.01 * forged
                    store(study, setting, 0, found, {name: table[number] for name, table in block.tables.items()})
        findings, _, (verified, trusted) = check_study(path)
        assert bool(findings) == forged == (not verified) == (not trusted)
        if forged:
            assert len(findings) == 1 and "those of the kept tables (2 learners" in findings[0]
        else:
            assert "exact results of the kept tables" in verified and "results at earlier points" in trusted


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """A study of two networks, of which proofs succeeded."""
    path = tmp_path_factory.mktemp("networks") / "s.h5"
    ttt.study(out=path, keep="last", learner="patterns", games=4000, prove_every=1000, seeds=2).close()
    return path


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("nothing", 0, ""),
        ("weight", 0, "the last weights are"),
        ("weight", np.int32(-(1 << 31)), "weights beyond"),
        ("proved", 0, "proved again|tables/proved is"),
        ("proof", -1, "the last weights are proved"),
        ("proof_positions", 0, "without an entered position"),
        ("proof_positions", 7, "proved with 7 positions"),
    ],
)
def test_kept_networks_are_proved_again_whatever_their_checksum(tmp_path, networks, name, value, words):
    with open_study(networks) as study:
        (block,), asked = study.blocks(), study.design
    statistics, tables = block.statistics, block.tables
    assert (statistics["proof"] == 1).any() and (statistics["proof"] == -1).any()
    for arrays in (statistics, tables):
        if name in arrays:
            arrays[name][:] = value
    with create_study(tmp_path / "s.h5", asked, keep="last") as study:
        study.store_many(block.settings, block.seeds, statistics, tables)
    findings, _, (verified, _) = check_study(tmp_path / "s.h5")
    assert bool(findings) == (name != "nothing") == ("the last proofs of the kept networks" not in str(verified))
    assert re.search(words, "\n".join(findings)), findings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "name", "value", "words"),
    [
        ("td", "value", np.nan, "holds NaN, which td never does"),
        ("td", "value", 1e99, "which training never reaches"),
        ("td", "visits", -1.0, "a number below 0"),
        ("td", "worst", 1, "contradicts the value of the game|does not agree"),
        ("menace", "q", 0.5, "a fraction of a bead"),
    ],
)
def test_kept_tables_have_the_form_that_their_learner_gives_them(tmp_path, learner, name, value, words):
    options = {"alpha": "1/n"} if learner == "td" else {"batch": 1}
    with ttt.study(out=tmp_path / "own.h5", keep="last", learner=learner, games=200, seeds=1, **options) as study:
        (block,), asked = study.blocks(), study.design
    for arrays in (block.statistics, block.tables):
        if name in arrays:
            arrays[name][0, 0] = value
    with create_study(tmp_path / "s.h5", asked, keep="last") as study:
        study.store_many(block.settings, block.seeds, block.statistics, block.tables)
    findings = check_study(tmp_path / "s.h5")[0]
    assert any(re.search(words, line) for line in findings), findings


def resealed(path: Path, header: Any) -> None:
    """Make the digest of a file right that another program changed."""
    with path.open("r+b") as file:
        digest = digest_of(file, header)
        file.seek(0)
        start = file.read(4096).replace(header.digest.encode(), digest.encode())
        file.seek(0)
        file.write(start)


def overwrite(path: Path, name: str, content: bytes) -> None:
    """Write bytes over the beginning of an array, and make the digest right."""
    with open_study(path) as study:
        header = study.header
    with path.open("r+b") as file:
        file.seek(header.arrays[name].offset)
        file.write(content)
    resealed(path, header)


@pytest.mark.parametrize("name", ["alpha", "games"])
def test_an_array_that_does_not_follow_from_the_design_is_found_although_the_digest_fits(full, name):
    overwrite(full, name, b"\1")
    finding = f"{name} differs from its design"
    assert f"{full}: {finding}" in check_study(full)[0]
    with pytest.raises(StudyFileError, match=f"cannot continue: {finding}; restore a backup"):
        resume_study(full)


@pytest.mark.parametrize("games", [0, -1, 2**62])
def test_games_at_points_that_do_not_ascend_are_refused_although_the_digest_fits(full, games):
    """Their curves could not be drawn."""
    overwrite(full, "games", games.to_bytes(8, "little", signed=True))
    assert "the games at its points do not ascend" in refused(full)


def test_numbers_of_settings_beyond_all_others_are_refused_although_the_digest_fits(tmp_path):
    path = tmp_path / "s.h5"
    ttt.study(out=path, keep="last", learner="td", games=200, alpha="0.1,0.2", seeds=1).close()
    overwrite(path, "tables/td-3x3/table_setting", np.array([2**63 - 2, -3], "<i8").tobytes())
    assert "tables/td-3x3 has other settings" in refused(path)


def test_tables_of_another_form_than_their_design_gives_are_not_written(tmp_path):
    path = tmp_path / "s.h5"
    ttt.study(out=path, keep="last", learner="td", games=200, seeds=1).close()
    with_header(path, lambda values: values["arrays"]["tables/td-3x3/value"].update(dtype="|i1"))
    with path.open("rb", buffering=0) as file:
        header = read_header("s.h5", file, path.stat().st_size)
    resealed(path, header)
    finding = "tables/td-3x3/value differs in type, shape or axes from its design"
    assert finding in "\n".join(check_study(path)[0])
    for more in ({}, {"seeds": 2}):
        with pytest.raises(StudyFileError, match=finding):
            ttt.study(resume=path, **more)


def test_files_that_are_none_are_refused_in_a_line(full, tmp_path):
    content = full.read_bytes()
    other = tmp_path / "other.h5"
    for size in (0, 1, 30, 600, 4096, len(content) - 1):
        other.write_bytes(content[:size])
        assert "is cut off" in refused(other) or "is empty" in refused(other)
    other.write_bytes(content + b"x")
    assert "1 byte follows its" in refused(other)
    other.write_text("anything else")
    assert "is not a ttt-batch study" in refused(other)
    ttt.train(20, batch=20).save(other, overwrite=True)
    assert "is an HDF5 file, but not a ttt-batch study" in refused(other)
    other.write_bytes(content.replace(b"format 1.2", b"format 9.2", 1))
    assert "upgrade ttt-batch" in refused(other)
    with pytest.raises(StudyFileError, match="upgrade"):
        check_study(other)
    assert "is a folder" in refused(tmp_path)
    assert "there is no file" in refused(tmp_path / "none.h5")
    os.mkfifo(tmp_path / "pipe")
    assert "not an ordinary file" in refused(tmp_path / "pipe")


HOSTILE: dict[str, Any] = {
    "beyond the end": lambda a: a["worst"].update(offset=10**17),
    "before the end of the header": lambda a: a["worst"].update(offset=8),
    "over another": lambda a: a["worst"].update(offset=a["state"]["offset"]),
    "huge": lambda a: a["worst"].update(shape=[10**9, 10**9, 10**9, 2]),
    "huger than the file": lambda a: [a[name].update(shape=[10**15]) for name in ("setting", "seed", "point")],
    "negative": lambda a: a["worst"].update(shape=[-8, 6, -8, 2]),
    "no numbers": lambda a: a["worst"].update(shape=["8", 6, 8, 2]),
    "true": lambda a: a["worst"].update(offset=True),
    "half": lambda a: a["worst"].update(offset=20000.5),
    "objects": lambda a: a["worst"].update(dtype="|O"),
    "records": lambda a: a["worst"].update(dtype="i1,i1"),
    "wide text": lambda a: a["key"].update(dtype="|S999999999"),
    "another axis": lambda a: a["worst"].update(axes=["seed", "setting", "point", "seat"]),
    "no axis": lambda a: a["worst"].update(axes=["setting", "seed", "point", "nose"]),
    "fewer axes": lambda a: a["worst"].update(axes=["setting"]),
    "an odd path": lambda a: a.update({"../x": a.pop("worst")}),
    "nothing": lambda a: a.clear(),
    "no array": lambda a: a.update(worst=None),
    "a list": lambda a: a.update(worst=[1, 2]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers_are_refused_in_a_line(full, case):
    with_header(full, lambda values: HOSTILE[case](values["arrays"]))
    message = refused(full)
    assert "is damaged in its first" in message, message
    assert check_study(full)[0] == [message]


def test_headers_without_contents_are_refused(full):
    content = full.read_bytes()
    begin = content.index(b"\n{") + 1
    for text in (b"[" * 5000, b'{"arrays": NaN}', b"{}", b"\xff", b'{"provenance":[],"keep":1,"arrays":{}}'):
        full.write_bytes((content[:begin] + text).ljust(8192) + content[8192:])
        assert "is damaged in its first" in refused(full)


def test_what_another_program_did_to_a_whole_study_is_said(full):
    """A process killed while h5py had the file open, and h5repack: neither is damage."""
    content = full.read_bytes()
    with open_study(full) as study:
        block = study.header.size
    marked = bytearray(content)
    marked[block + 20] = 1
    full.write_bytes(marked)
    assert "stopped while it had the file open for writing" in refused(full) and "h5clear -s" in refused(full)
    assert "restore" not in refused(full), "the tool mends it"
    assert check_study(full)[0] == [refused(full)]
    marked[content.index(b"axes", block)] ^= 1
    full.write_bytes(marked)
    assert "does not match its digest" in refused(full)
    for more in (b"", bytes(64)):
        shorter = bytearray(content[:-64] if not more else content + more)
        shorter[block + 40 : block + 48] = len(shorter).to_bytes(8, "little")
        full.write_bytes(shorter)
        assert "has rewritten it: HDF5 finds its" in refused(full) and "restore a backup" in refused(full)
    full.write_bytes(content[:-64])
    assert "is cut off: 64 of its" in refused(full)
