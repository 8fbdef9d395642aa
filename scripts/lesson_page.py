"""Write the page of the lesson from its declaration, `ttt_batch/app/lesson.py`: `data/guide/lesson.md`.

python scripts/lesson_page.py --page data/guide/lesson.md
"""

import argparse
from pathlib import Path

from ttt_batch.app.lesson import guide


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page to write; standard output if not given")
    options = parser.parse_args()
    if options.page is None:
        print(guide(), end="")
    else:
        options.page.write_text(guide(), encoding="utf-8")


if __name__ == "__main__":
    main()
