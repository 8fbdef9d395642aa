"""The programs of the page of libraries, each run where its libraries are installed."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "data" / "guide" / "libraries.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def test_each_part_has_a_program_that_ends_with_a_verdict():
    assert list(PROGRAMS) == re.findall("^## (.*)$", PAGE, re.MULTILINE)
    for program in PROGRAMS.values():
        compile(program, "libraries.md", "exec")
        assert program.splitlines()[-1].startswith("print(ttt.judge(")


@pytest.mark.slow  # each trains for some seconds
@pytest.mark.parametrize("library", PROGRAMS)
def test_the_program_of_a_library_judges_what_it_trained(library, tmp_path):
    program = PROGRAMS[library]
    if missing := [name for name in IMPORTED.findall(program) if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^against random\b.*\n(.*\n)?as first .*\nas second ", done.stdout, re.MULTILINE), done.stdout
