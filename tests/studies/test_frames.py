"""A study's results in pandas and xarray, and its file opened by other programs."""

import sys

import h5py
import numpy as np
import pytest
from helpers.studyfiles import design, missing, results, store

import ttt_batch as ttt
from ttt_batch.core.errors import TttBatchError
from ttt_batch.studies.storage.writing import create_study
from ttt_batch.studies.study import Study

OPTIONS = {"alpha": ["0.1", "0.3->0.01:linear"], "epsilon": "0.1,0.2", "batch": "500,20", "games": 1_000}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A study of eight settings and four seeds, one learner of which is missing and one has failed."""
    path = tmp_path_factory.mktemp("study") / "study.h5"
    with create_study(path, design(seeds="3..6", **OPTIONS)) as study:
        for setting, seed in missing(study):
            if (setting, seed) == (2, 1):
                study.fail(2, 1, "no memory")
            elif (setting, seed) != (4, 3):
                store(study, setting, seed)
    return path


def test_a_table_has_a_row_for_every_point(path):
    with Study(path) as study:
        frame = study.to_dataframe()
        assert len(frame) == int((study.points[:, None] * (study.state == 1)).sum())
        own = frame[(frame.setting == 5) & (frame.seed == 4)]
        expected = results(study, 5, 1)
        assert own.games.tolist() == expected["games"].tolist()
        assert own.point.tolist() == list(range(len(expected["games"])))
        assert own["unbeatable.second"].tolist() == expected["unbeatable"][:, 1].tolist()
        assert own["versus_random.first.loss"].tolist() == expected["versus_random"][:, 0, 2].tolist()
        assert own["outcomes.draws"].tolist() == expected["outcomes"][:, 1].tolist()
        setting = study.design.settings[5]
        assert set(own.epsilon) == {setting.config.epsilon.plain} and set(own.alpha) == {str(setting.written["alpha"])}
        assert set(own.total_games) == {1_000} and set(own["draw_worth.first"]) == {setting.config.draw_worth[0]}
        assert str(frame.alpha.dtype) == "category" and frame.epsilon.dtype == np.float64
        ends = study.to_dataframe(last=True)
        assert len(ends) == 30 and set(ends.games) == {1_000}


def test_a_study_without_learners_is_an_empty_table(tmp_path):
    create_study(tmp_path / "s.h5", design()).close()
    with Study(tmp_path / "s.h5") as study:
        assert len(study.to_dataframe()) == 0 and "value_error.first" in study.to_dataframe()


def test_a_dataset_has_names_on_its_axes(path):
    with Study(path) as study:
        data = study.to_xarray()
        assert dict(data.sizes) == {
            "setting": 8,
            "seed": 4,
            "point": study.games.shape[1],
            "seat": 2,
            "result": 3,
            "outcome": 3,
        }
        own = data.sel(setting=5, seed=4, seat="second", result="loss")
        points = int(study.points[5])
        assert own.versus_random.values[:points].tolist() == results(study, 5, 1)["versus_random"][:, 1, 2].tolist()
        assert np.isnan(own.versus_random.values[points:]).all()
        assert np.isnan(data.seconds.values[2, 1]).all() and data.state.values[2, 1] == 2
        assert data.where(data.epsilon == 0.2, drop=True).sizes["setting"] == 4


@pytest.mark.slow
def test_other_programs_open_the_file_with_names(path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with Study(path) as study, xarray.open_dataset(path, engine="h5netcdf") as data:
        ours = study.to_xarray()
        assert dict(data.sizes) == dict(ours.sizes)
        assert data.unbeatable.dims == ("setting", "seed", "point", "seat") and data.unbeatable.dtype == bool
        assert data.seat.values.tolist() == ["first", "second"] and data.seed.values.tolist() == [3, 4, 5, 6]
        for name in (*study.options, "key", "games", "points", "growing"):
            assert data[name].dims == study.header.arrays[name].axes
            assert name in data.coords and data[name].values.tolist() == study.array(name).tolist()
        done = data.state == 1
        for name in ("versus_random", "outcomes", "unbeatable", "worst"):
            assert (data[name].where(done).fillna(-9) == ours[name].where(done).fillna(-9)).all(), name
        assert "NaN at points within one kernel" in data.seconds.attrs["meaning"] == ours.seconds.attrs["meaning"]
        assert data.attrs["file_type"] == "ttt-batch study" and data.best_response.attrs["meaning"]


def test_every_axis_has_its_scale(path):
    with h5py.File(path) as file:

        def check(name, array):
            if isinstance(array, h5py.Dataset) and not array.is_scale:
                names = [dimension[0].name.rpartition("/")[2] for dimension in array.dims]
                assert ",".join(names) == array.attrs["axes"].decode(), name

        file.visititems(check)


@pytest.mark.parametrize(("library", "make"), [("pandas", Study.to_dataframe), ("xarray", Study.to_xarray)])
def test_what_is_missing_is_named_with_its_extra(path, monkeypatch, library, make):
    monkeypatch.setitem(sys.modules, library, None)
    with Study(path) as study, pytest.raises(TttBatchError, match=r"pip install 'ttt-batch\[frames\]'"):
        make(study)


def test_a_seat_that_is_not_played_is_blank(tmp_path):
    ttt.study(learner="menace,td", games=50, seeds=2, out=tmp_path / "study.h5")
    with Study(tmp_path / "study.h5") as study:
        frame, data = study.to_dataframe(), study.to_xarray()
        first_alone = [setting.written["learner"] == "menace" for setting in study.design.settings]
        blocks = {name: study.array(name) for name in ("versus_random", "self_play", "unbeatable", "worst")}
    own = frame[frame.learner == "menace"]
    for name in ("versus_random.second.win", "best_response.second", "optimal_share.second", "self_play.draws"):
        assert own[name].isna().all() and not frame[frame.learner == "td"][name].isna().any()
    assert not own["unbeatable.second"].any() and not own["worst.second"].any()
    assert not own["versus_random.first.win"].isna().any()
    for number, alone in enumerate(first_alone):
        assert np.isnan(data["versus_random"].values[number, :, :, 1]).all() == alone
        assert np.isnan(data["self_play"].values[number, :, 0]).all() == alone
        kept = data["versus_random"].values[number, :, :, 0]
        assert np.array_equal(kept, blocks["versus_random"][number, :, :, 0], equal_nan=True)
