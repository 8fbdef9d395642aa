"""The pages of data/: each is what its script writes from the figures beside it, and what they name can be run."""

import json
import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import ttt_batch as ttt
from ttt_batch.__main__ import run
from ttt_batch.app.cli import COMMANDS
from ttt_batch.studies.designs.description import read_description
from ttt_batch.studies.summary import interval_of_median

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DATA, SCRIPTS = ROOT / "data", ROOT / "scripts"
MEASURED = {
    "benchmark": ["benchmark.py"],
    "boards": ["boards.py"],
    "claims": ["claims.py"],
    "connect4": ["connect_four.py"],
    "exercises": ["study_pages.py", "exercises"],
    "headlines": ["study_pages.py", "headlines"],
    "rules": ["rules.py"],
    "scaling": ["scaling.py"],
    "seeds": ["seeds.py"],
    "settling": ["study_pages.py", "settling"],
    "smallest": ["smallest.py"],
}
"""What writes data/NAME.md from data/NAME.json."""

GUIDES = sorted((DATA / "guide").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted(DATA.glob("*.md")), *GUIDES]
MEASURING = re.compile(r"python (scripts/[a-z_]+\.py[^`\n#]*)")


@pytest.mark.parametrize("name", MEASURED)
def test_a_page_is_what_its_script_writes(name, script, tmp_path, monkeypatch):
    program = MEASURED[name]
    words = ["--from", str(DATA / f"{name}.json"), "--page", str(tmp_path / "page.md")]
    monkeypatch.setattr("sys.argv", [*program, *words])
    script(Path(program[0]).stem).main()
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == (DATA / f"{name}.md").read_text(encoding="utf-8"), (
        f"write it again: python scripts/{' '.join(program)} --from data/{name}.json --page data/{name}.md"
    )


def test_figures_that_are_measured_later_join_the_others(script):
    """They replace those of their names; the page says which were measured when."""
    report_of = script("benchmark_report")

    def report(date, *names):
        figures = [
            {"figure": name, "unit": date, "value": 1.0, "min": 1.0, "max": 1.0, "target": None, "reached": None}
            for name in names
        ]
        machine = {"processor": "Z", "cores": 2}
        kept = {"machine": machine, "versions": {"python": "3"}, "date": date, "quick": False}
        return kept | {"figures": figures, "measurements": {name: [] for name in names}}

    both = report_of.added(report("first", "a", "b", "c"), report("second", "b", "d"))
    assert [(entry["figure"], entry["unit"]) for entry in both["figures"]] == [
        ("a", "first"),
        ("c", "first"),
        ("b", "second"),
        ("d", "second"),
    ]
    assert list(both["measurements"]) == ["a", "b", "c", "d"]
    all_three = report_of.added(both, report("third", "d"))
    assert [part["names"] for part in all_three["parts"]] == [["b"], ["d"]]
    page = report_of.page(all_three)
    assert "Rows from *b* to *b*:\nMeasured on Z, 2 cores; python 3; second." in page
    assert "Rows from *d* to *d*:\nMeasured on Z, 2 cores; python 3; third." in page


@pytest.mark.sampled(1)
@pytest.mark.parametrize("board", ["3x3", "4x4x4", "6x7x4-gravity"])
@pytest.mark.parametrize("kind", ["PlainBoards", "TunedBoards"])
def test_what_environments_are_compared_with_plays_the_same_games(board, kind, script):
    batch = ttt.Batch(70, board, 1, autoreset="same-step")
    boards = getattr(script("numpy_boards"), kind)(70, batch.board)
    for _ in range(30):
        actions = batch.sample()
        for mine, its in zip(batch.step(actions), boards.step(actions), strict=True):
            assert np.array_equal(mine.reshape(its.shape), its)
    while batch.mask[0].all():
        actions = batch.sample()
        batch.step(actions)
        boards.step(actions)
    actions = batch.sample()
    actions[0] = np.flatnonzero(~batch.mask[0])[0]
    with pytest.raises(ValueError, match="illegal"):
        boards.step(actions)


@pytest.mark.slow
def test_json_has_the_keys_of_the_page(script, tmp_path):
    """Commands that take long are run by test_scripts.py, with the whole script."""
    keys, text = script("json_keys"), (DATA / "json-keys.md").read_text(encoding="utf-8")
    for section in keys.sections(keys.collect(tmp_path, [each for each in keys.COMMANDS if each.quick])):
        assert f"\n{section}\n" in text, (
            f"{section}\n\nwrite it again: python scripts/json_keys.py --page data/json-keys.md"
        )
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    assert headings == [command.label for command in keys.COMMANDS]
    shown = {re.split("[ ,]", heading)[0] for heading in headings}
    assert shown == {*COMMANDS} - {"play"}


def test_from_without_a_page_is_refused(script, monkeypatch):
    monkeypatch.setattr("sys.argv", [*MEASURED["settling"], "--from", str(DATA / "settling.json")])
    with pytest.raises(SystemExit, match="--from needs --page"):
        script("study_pages").main()


def test_what_most_seeds_never_reach_stands_on_the_page(script):
    pages = script("study_pages")
    report = json.loads((DATA / "settling.json").read_text(encoding="utf-8"))
    report["settings"][0].update(first_proof_games=None, settled_games=None)
    assert "| td | 0.3 | 0.5 | walk | 1 | 100% | - | 100.0% | 100% | - |" in pages.settling_page(report)


@pytest.mark.slow
def test_figures_of_a_study(script, tmp_path):
    """Those of the settling page by hand, from what `train` records of the same seeds."""
    pages = script("study_pages")
    options = {"learner": "td", "epsilon": 0.1, "alpha": 0.1, "batch": 1024}
    study = ttt.study(out=tmp_path / "s.h5", games=200_000, seeds=3, **options)
    report = pages.report_of(study, pages.settling_rows)
    (row,) = report["settings"]
    first, settled, later = [], [], []
    points = [ttt.train(200_000, seed=seed, **options).statistics for seed in range(3)]
    for statistics in points:
        holds, games = statistics["unbeatable"].all(axis=1), statistics["games"]
        first.append(games[holds][0] if holds.any() else math.inf)
        settled.append(math.inf if not holds[-1] else games[0 if holds.all() else np.flatnonzero(~holds)[-1] + 1])
        later += holds[games > first[-1]].tolist()
    assert 0 < row["proved"] == np.mean(np.isfinite(first))
    for name, times in (("first_proof_games", first), ("settled_games", settled)):
        assert (row[name] or math.inf) == sorted(times)[1]
    assert row["later_points_that_hold"] == pytest.approx(np.mean(later))
    assert row["settled_by_half"] == np.mean(np.array(settled) <= 100_000)
    assert "td | 0.1 | 0.1 | walk | 1,024" in pages.settling_page(report)
    (row,) = pages.headlines_rows(study)
    assert row["unbeatable"] == np.sum([point["unbeatable"][-1] for point in points], axis=0).tolist()
    assert row["versus_random"] == np.median([point["versus_random"][-1] for point in points], axis=0).tolist()
    assert row["self_play_drawn"] == sum(point["self_play"][-1, 1] == 1 for point in points)
    study.state[0, 0] = 0
    with pytest.raises(SystemExit, match="1 learner is not done; resume"):
        pages.report_of(study, pages.settling_rows)


def test_intervals_of_few_seeds_are_those_of_the_textbook(script, monkeypatch):
    """Each by its definition, one sample after the other."""
    from scipy import stats

    seeds = script("seeds")
    monkeypatch.setattr(seeds, "RESAMPLES", 100)
    rng = np.random.default_rng(1)
    samples = np.sort(rng.integers(0, 12, (40, 10)).astype(np.float64), axis=1)
    for row, ends in zip(samples, seeds.t_interval(samples, rng), strict=True):
        low, high = stats.t.interval(0.95, 9, row.mean(), stats.sem(row))
        assert ends == pytest.approx([low, high])
    for name, figure in (("mean", np.mean), ("interquartile mean", lambda row: stats.trim_mean(row, 0.25))):
        found = seeds.METHODS[f"{name}, bootstrap"].intervals(samples, np.random.default_rng(2))
        drawn = np.random.default_rng(2).multinomial(10, np.full(10, 0.1), size=seeds.RESAMPLES)
        for row, ends in zip(samples[:5], found, strict=False):
            assert ends == pytest.approx(np.quantile([figure(row.repeat(counts)) for counts in drawn], [0.025, 0.975]))
    happened = samples < 9
    found = seeds.median_interval(np.where(happened, samples, np.inf), rng)
    for row, known, ends in zip(samples.astype(np.int64), happened, found, strict=True):
        low, high = interval_of_median(row.clip(max=9), known)
        assert (low, high) == (min(ends[0], 9), None if np.isinf(ends[1]) else ends[1])
    assert seeds.median_interval(samples[:, :5], rng) is None


def test_coverage_of_few_seeds(script, monkeypatch):
    seeds = script("seeds")
    monkeypatch.setattr(seeds, "RESAMPLES", 500)
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(100, 1, (1, 5000)), axis=1)
    found = seeds.coverage(values, np.sort(rng.choice(values[0], (2000, 10)), axis=1), 1000, rng)
    assert found["mean, t"] == pytest.approx(0.95, abs=0.015)
    assert found["mean, bootstrap"] == pytest.approx(0.9, abs=0.02)
    assert found["median, Kaplan-Meier"] > 0.94
    rare = np.repeat([0.0, 1.0], [4500, 500])[None]
    found = seeds.coverage(rare, np.sort(rng.choice(rare[0], (2000, 3)), axis=1), 1000, rng)
    assert found["mean, t"] == pytest.approx(1 - 0.9**3 - 0.1**3, abs=0.03)
    assert found["median, Kaplan-Meier"] is None


def test_figures_of_the_page_of_seeds(script, tmp_path):
    """Those of each learner by hand, from what `train` records of the same seeds."""
    seeds = script("seeds")
    options = {"learner": "td", "epsilon": 0.1, "alpha": 0.1, "batch": 1024}
    with ttt.study(out=tmp_path / "s.h5", games=20_000, seeds=3, **options) as study:
        found = seeds.measured(study)
    for seed in range(3):
        run = ttt.train(20_000, seed=seed, **options).statistics
        proved = run["games"][run["unbeatable"].all(axis=1)]
        assert found["loss"][0, seed] == run["versus_random"][-1, :, 2].mean()
        assert found["error"][0, seed] == run["value_error"][-1].mean()
        assert found["first proof"][0, seed] == (proved[0] if proved.size else np.inf)


def test_the_page_of_seeds_is_of_the_study_beside_it():
    report, design = (
        json.loads((DATA / "seeds.json").read_text(encoding="utf-8")),
        read_description(DATA / "seeds.toml"),
    )
    assert report["seeds"] == len(design.seeds)
    assert report["rules"] == [
        {name: setting.written[name] for name in ("learner", "alpha")} for setting in design.settings
    ]
    assert {setting.written["games"] for setting in design.settings} == {report["games"]}


def test_the_readme_says_what_a_few_seeds_tell():
    report = json.loads((DATA / "seeds.json").read_text(encoding="utf-8"))
    shares = [row["coverage"]["mean, bootstrap"] for row in report["rows"]]
    few, many = (np.median([each[place] for each in shares]) for place in (0, -1))
    wrong = max(row["wrong"][0] for row in report["pairs"])
    told = " ".join(README.split())
    assert f"the true mean in {100 * few:.0f} % of the samples (the median of {len(shares)} figures)" in told
    assert f"with 20 in {100 * many:.0f} %" in told and f"in up to {100 * wrong:.0f} % of the comparisons" in told


@pytest.mark.parametrize("name", ["settling", "headlines"])
def test_pages_are_of_the_studies_beside_them(name):
    """A study's file that has changed needs its page written again."""
    report = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    design = read_description(DATA / f"{name}.toml")
    assert report["seeds"] == len(design.seeds)
    written = [
        {key: setting.written[key] for key in ("learner", "engine", "batch", "games", "epsilon", "alpha")}
        for setting in design.settings
    ]
    assert [{key: row[key] for key in written[0]} for row in report["settings"]] == written


def test_a_template_takes_just_its_parts(script, tmp_path, monkeypatch):
    writer = script("page_writer")
    monkeypatch.setattr(writer, "TEMPLATES", tmp_path)
    (tmp_path / "page.md").write_text("{{one}} and {{two}}\n", encoding="utf-8")
    assert writer.fill("page.md", one="1", two="2") == "1 and 2\n"
    with pytest.raises(LookupError, match="needs more than one"):
        writer.fill("page.md", one="1")
    with pytest.raises(LookupError, match="no place for three"):
        writer.fill("page.md", one="1", two="2", three="3")
    assert writer.markdown_table(["a", "b"], [["|z|", 1]]) == "| a | b |\n|---|---|\n| \\|z\\| | 1 |"


def test_what_the_pages_run_has_the_options_that_they_give(script):
    """Measuring takes minutes to hours, so these commands are parsed here; test_scripts.py runs them with less work."""
    writing = {Path(program).stem for program, *_ in MEASURED.values()} | {"json_keys"}
    found = {}
    for page in PAGES:
        for line in MEASURING.findall(page.read_text(encoding="utf-8")):
            path, *words = shlex.split(line)
            assert (ROOT / path).exists(), line
            name = Path(path).stem
            if name in writing:
                options = script(name).parser().parse_args(words)
                found.setdefault(name, set()).update({options.page} - {None})
    assert {page for pages in found.values() for page in pages} == {
        Path("data") / f"{name}.md" for name in (*MEASURED, "json-keys")
    }


def test_the_readme_keeps_its_length_and_order():
    assert len(README.splitlines()) <= 170
    assert re.findall("^## (.*)$", README, re.MULTILINE) == [
        *("Two commands", "In a classroom", "With your own table or agent", "For research", "How it is exact and fast"),
        *("Commands", "From Python", "Where everything else is"),
    ]


def test_every_guide_is_named_in_the_readme():
    assert not [path.name for path in GUIDES if f"data/guide/{path.name}" not in README]


def test_the_page_of_commands_is_what_help_prints(script):
    written = (DATA / "guide" / "commands.md").read_text(encoding="utf-8")
    assert written == script("commands_page").page(), (
        "write it again: python scripts/commands_page.py --page data/guide/commands.md"
    )


def test_figures_of_the_readme_and_the_guides_are_those_of_the_pages():
    """Rows of tables that begin with a name in code, or are heads, hold no figures."""
    measured = {line for page in DATA.glob("*.md") for line in page.read_text(encoding="utf-8").splitlines()}
    pages = [README, *(path.read_text(encoding="utf-8") for path in GUIDES)]
    rows = [row for page in pages for row in page.splitlines() if re.match(r"\| (?!`|command |folder )", row)]
    assert len(rows) > 15 and not set(rows) - measured


def test_commands_within_a_line_exist(capsys):
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = [shlex.split(line) for line in re.findall(r"`ttt-batch ([a-z][^`]*)`", text)]
    for name, *words in named:
        assert run([name, "--help"]) == 0, name
        known = re.findall(r"--[a-z-]+", capsys.readouterr().out)
        assert {word for word in words if word.startswith("--")} <= set(known), name
    assert {name for name, *_ in named} >= {*COMMANDS} - {"play", "compare"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_lines_fit_and_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    tables = page.parent == DATA or page.parent.parent == DATA
    long = [line for line in text.splitlines() if len(line) > 120 and not (tables and line[0] == "|")]
    assert not long
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target[1:] in headings if target.startswith("#") else (page.parent / target).exists(), target


def test_what_the_exercises_say_is_in_their_tables():
    """Counts of seeds in the sentences, from the figures beside the page."""
    report = json.loads((DATA / "exercises.json").read_text(encoding="utf-8"))
    text = " ".join((DATA / "exercises.md").read_text(encoding="utf-8").split())

    def second(**wanted):
        (row,) = (row for row in report["settings"] if row.items() >= {"learner": "sutton-barto", **wanted}.items())
        return row["unbeatable"][1]

    plain = {"alpha": 0.1, "symmetry": False}
    assert f"itself {second(**plain, epsilon=0.1, opponent='self')} of 50 seeds" in text
    assert [second(**plain, epsilon=0.1, opponent=name) for name in ("random", "optimal")] == [0, 50]
    explored = [second(**plain, epsilon=share, opponent="self") for share in (0, 0.01, 0.1, 0.3, 0.6)]
    assert explored == sorted(explored)
    for epsilon, words in {
        0.3: "at 0.3 ({} rather than {} seeds)",
        "0.6->0.01:exp": "falls ({} rather than {})",
    }.items():
        counts = [second(epsilon=epsilon, alpha=alpha, symmetry=False) for alpha in ("1/n", 0.1)]
        assert words.format(*counts) in text
    for epsilon, alpha, words in (
        (0.6, 0.1, "constant step size {} rather than {}."),
        (0.1, 0.1, "step size: {} rather than {} seeds if it is constant"),
        (0.1, "1/n", "constant, {} rather than {} if it falls"),
    ):
        given = {"learner": "td-lambda", "epsilon": epsilon, "alpha": alpha}
        assert words.format(*(second(**given, cut=cut) for cut in (False, True))) in text
