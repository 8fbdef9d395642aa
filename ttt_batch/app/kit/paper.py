"""The kit as a page that a browser prints on A4: nothing is fetched, and no script runs."""

import html

from ttt_batch.app.kit.boxes import COLOURS, DARK, Box
from ttt_batch.app.kit.rules import KitRules
from ttt_batch.game.board import EMPTY

STYLE = """
@page { size: A4; margin: 15mm 13mm }
body { font: 10.5pt/1.5 sans-serif; max-width: 184mm; margin: 8mm auto; padding: 0 4mm; color: #000; background: #fff }
h1 { font-size: 15pt; line-height: 1.25 }
h2 { font-size: 11.5pt; margin: 5mm 0 1mm }
p { margin: 0 }
ul { display: flex; flex-wrap: wrap; gap: 2mm 8mm; list-style: none; padding: 0 }
ul, ol { margin: 3mm 0 }
ol { display: grid; grid-template-columns: repeat(auto-fill, 36mm); list-style: none; padding: 0; break-before: page }
ol > li { border: .2mm dashed #777; height: 52mm; box-sizing: border-box; padding: 2mm 3mm; break-inside: avoid }
ol > li > b { font-size: 12pt }
ol > li > span { float: right; font-size: 8.5pt }
ol > li > p { text-align: center; font-size: 7.5pt }
table { border-collapse: collapse; margin: 1.5mm auto }
td { border: .25mm solid #000; width: 9.4mm; height: 9.4mm; padding: 0; text-align: center; font: bold 17pt sans-serif }
tr:first-child td { border-top: 0 } tr:last-child td { border-bottom: 0 }
td:first-child { border-left: 0 } td:last-child { border-right: 0 }
i { display: inline-block; width: 7.4mm; height: 7.4mm; border: .25mm solid #000; border-radius: 50%;
  text-align: center; font: normal 9.5pt/7.4mm sans-serif; -webkit-print-color-adjust: exact; }
"""


def make_html(boxes: list[Box], rules: KitRules) -> str:
    """The kit: rules, and the labels."""
    colours = "\n".join(
        f".c{cell} {{ background: {colour}; color: {'#fff' if name in DARK else '#000'} }}"
        for cell, (name, colour) in enumerate(COLOURS)
    )
    paragraphs = "\n".join(
        f"<h2>{html.escape(head)}</h2>\n<p>{html.escape(text)}</p>" for head, text in rules.paragraphs
    )
    beads = "\n".join(
        f'<li><i class="c{cell}">{cell + 1}</i> {name}: {count:,}</li>'
        for cell, ((name, _), count) in enumerate(zip(COLOURS, rules.beads, strict=True))
    )
    labels = "\n".join(map(_label, boxes))
    title = html.escape(rules.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{STYLE}{colours}\n</style>\n<h1>{title}</h1>\n{paragraphs}\n"
        f"<h2>Beads of each cell, in all boxes together</h2>\n<ul>\n{beads}\n</ul>\n<ol>\n{labels}\n</ol>\n</html>\n"
    )


def _label(box: Box) -> str:
    """A box: its number, its move, the position with the beads in it."""
    cells = [_cell(box, cell) for cell in range(9)]
    rows = "".join(f"<tr>{''.join(cells[first : first + 3])}</tr>" for first in (0, 3, 6))
    return f"<li><b>{box.number}</b><span>move {box.move}</span><table>{rows}</table><p>{box.holds}</p></li>"


def _cell(box: Box, cell: int) -> str:
    mark = box.position[cell]
    if mark != EMPTY:
        return f"<td>{'XO'[mark - 1]}</td>"
    return f'<td><i class="c{cell}">{box.beads[cell]:,}</i></td>' if cell in box.beads else "<td></td>"
