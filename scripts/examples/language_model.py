"""Exact judgement of a language model that plays tic-tac-toe, from some hundred answers instead of games.

    export CHAT_ADDRESS=http://127.0.0.1:8080/v1 CHAT_MODEL=NAME CHAT_KEY=KEY
    python scripts/examples/language_model.py [--temperature 0] [--symmetric] [--samples 10]

Any server with the chat-completions protocol will do.  A question shows one position and asks for one move.  Only
positions that the model's own moves can lead to are asked: that is enough for a proof in both seats.  A model that
always answers alike gets 200 to 900 questions.  With `--symmetric` it gets 100 to 300, about one image of each
position, and the verdict assumes that it plays alike in the others.

A model that draws its answers is asked `--samples` times in each position.  The shares of its answers are then judged,
with 95 % intervals.  They prove nothing of answers that were not seen.

Answers are kept in a file as they come, and the same command continues a broken run.  A move to an occupied cell, or an
answer without a move, is illegal.  It loses the game, if `--repeat` more questions bring no legal one.  The key is
neither printed nor stored.
"""

import argparse
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ttt_batch as ttt
from ttt_batch.agents import at_board

QUESTION = """You play tic-tac-toe: X moves first, and three marks in a row, column or diagonal win.
This is the board; free cells show their numbers.

{rows}

You are {mover}, and it is your turn. Choose a free cell.
End your answer with the line "move: N", where N is the number of that cell.
"""
AGAIN = 'That names no free cell. End your answer with the line "move: N", where N is the number of a free cell.'

EMPTY_BOARD = "." * 9
DAY = 86_400.0
MOST_BYTES = 1 << 24
MOST_SHOWN = 12
"""Boards of the picture."""


def question(position: str) -> str:
    """Return the question about a position: nine characters `X`, `O` or `.`, row by row."""
    cells = [str(number) if mark == "." else mark for number, mark in enumerate(position, 1)]
    rows = "\n".join(" ".join(cells[start : start + 3]) for start in (0, 3, 6))
    return QUESTION.format(rows=rows, mover="XO"[position.count(".") % 2 == 0])


def named_cell(answer: str, position: str) -> int | None:
    """Return the free cell (0 to 8) that an answer names last; None for an illegal answer."""
    named = re.findall(r"\bmove\W*([1-9])\b", answer.lower()) or re.findall(r"^\W*([1-9])\W*$", answer)
    cell = int(named[-1]) - 1 if named else None
    return cell if cell is not None and position[cell] == "." else None


def shares_of(position: str, cells: list[int | None]) -> NDArray[np.float64]:
    """Return the share of each cell among answers (float64[9]).

    An illegal answer, None, stands at an occupied cell, which loses.  No cell of the empty board is occupied: there
    only legal answers count, or the first cell if there are none.
    """
    if position == EMPTY_BOARD:
        cells = [cell for cell in cells if cell is not None] or [0]
    places = [position.index("X") if cell is None else cell for cell in cells]
    return np.bincount(places, minlength=9) / len(places)


# --- the server ---------------------------------------------------------------------------------------------------


class ServerError(Exception):
    """Failure that no further try mends."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirection: the key is for one server."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse it."""


OPENER = urllib.request.build_opener(NoRedirect)  # to make one reads certificates, for 20 ms


class Server(NamedTuple):
    """Server with the chat-completions protocol.

    temperature: of the answers; None for the server's own.  timeout: seconds for each answer.
    retries: further tries after a failure.  wait: seconds before the first of them, doubled for each.
    """

    address: str
    model: str
    key: str
    temperature: float | None
    timeout: float
    retries: int
    wait: float

    def answer(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        """Return the text of an answer and the tokens of both sides.  Raises ServerError."""
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        request = urllib.request.Request(
            f"{self.address.rstrip('/')}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {}),
        )
        failure = ""
        for number in range(self.retries + 1):
            if number:
                seconds = self.wait * 2 ** (number - 1)
                # One write, so that the lines of several threads do not mix.
                sys.stderr.write(f"the server failed: {failure}; try {number} of {self.retries} in {seconds:g} s\n")
                time.sleep(seconds)
            try:
                with OPENER.open(request, timeout=self.timeout) as response:
                    told = json.loads(self.without_key(response.read(MOST_BYTES)))
                used = told.get("usage") or {}
                return {
                    "answer": str(told["choices"][0]["message"]["content"] or ""),
                    **{name: int(used.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")},
                }
            except urllib.error.HTTPError as error:
                with error:
                    failure = f"status {error.code}: {' '.join(self.without_key(error.read(300)).split())}"
                if error.code != 429 and error.code < 500:  # too many questions, or a fault of the server, may pass
                    break
            except (OSError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                failure = str(getattr(reason, "strerror", None) or reason or type(reason).__name__)
                if isinstance(reason, TimeoutError):
                    failure = f"no answer within {self.timeout:g} s"
            except (ValueError, LookupError, TypeError, AttributeError):
                failure = "an answer that is not of the chat-completions protocol"
        raise ServerError(f"the server failed: {failure}")

    def without_key(self, said: bytes) -> str:
        """Return what a server said as text, in which no key can stand."""
        text = said.decode(errors="replace")
        return text.replace(self.key, "(key)") if self.key else text


# --- answers, and the agent made of them --------------------------------------------------------------------------


class Answers:
    """Answers in a file: a line of JSON says whose they are, and one line holds each."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        """Read the answers that are kept.  Raises SystemExit for a file of other questions, or a damaged one."""
        self.path, self.found, self._lock = path, dict[tuple[str, int], list[dict[str, Any]]](), threading.Lock()
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        try:
            first, *lines = [json.loads(line) for line in whole.splitlines()] or [about]
            for line in lines:
                self.found.setdefault((line["position"], line["sample"]), []).append(line)
        except (ValueError, LookupError, TypeError):
            raise SystemExit(f"{path} holds something else than answers; name another file with --answers") from None
        if first != about:
            raise SystemExit(f"{path} holds answers of another model or question; name another file with --answers")
        if text != whole:  # a broken run has left a part of a line
            os.truncate(path, len(whole))
        if not whole:
            self._write(about)

    def add(self, line: dict[str, Any]) -> None:
        """Keep an answer."""
        with self._lock:
            self.found.setdefault((line["position"], line["sample"]), []).append(line)
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")


class LanguageModel:
    """Agent that asks a server about positions, several at a time."""

    def __init__(self, server: Server, answers: Answers, *, samples: int, repeat: int, at_once: int) -> None:
        """samples: answers in each position.  repeat: further questions after an illegal answer."""
        self.__name__, self.server, self.answers = server.model, server, answers
        self.known: dict[str, NDArray[np.float64]] = {}  # shares of cells in the positions that were asked
        self.samples, self.repeat, self.at_once = samples, repeat, at_once

    def __call__(self, boards: NDArray[np.int8], to_move: NDArray[np.int8], _legal: NDArray[np.bool_]) -> Any:
        """Return the share of each cell among the model's answers, float64[n, 9]."""
        marks = boards.reshape(-1, 9) * (1 - 2 * to_move[:, None])  # 1 for X, -1 for O
        positions = ["".join(".XO"[mark] for mark in row) for row in marks.tolist()]
        wanted = [one for one in positions if one not in self.known and not self.has_forfeited(one)]
        pool = ThreadPoolExecutor(self.at_once)
        try:
            for _ in pool.map(self.ask, [(position, n) for position in wanted for n in range(self.samples)]):
                pass
        finally:
            pool.shutdown(cancel_futures=True)
        self.known |= {position: shares_of(position, self.cells(position)) for position in wanted}
        return np.array([self.known[one] if one in self.known else shares_of(one, [None]) for one in positions])

    def ask(self, which: tuple[str, int]) -> None:
        """Ask about a position until an answer is legal or counts as illegal.  which: position, number of sample."""
        position, sample = which
        messages = [{"role": "user", "content": question(position)}]
        for number in range(self.repeat + 1):
            kept = self.answers.found.get(which, [])
            if number == len(kept):
                self.answers.add({"position": position, "sample": sample} | self.server.answer(messages))
            answer = self.answers.found[which][number]["answer"]
            if named_cell(answer, position) is not None:
                break
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": AGAIN}]

    def cells(self, position: str) -> list[int | None]:
        """Return the cell of each sample in a position that was asked; None for an illegal answer."""
        tries = [self.answers.found[position, n][: self.repeat + 1] for n in range(self.samples)]
        found = [[named_cell(line["answer"], position) for line in lines] for lines in tries]
        return [next((cell for cell in cells if cell is not None), None) for cells in found]

    def has_forfeited(self, position: str) -> bool:
        """Return whether X is to move later in a game that the model lost by its first answer."""
        return EMPTY_BOARD in self.known and position.count(".") % 2 == 1 and set(self.cells(EMPTY_BOARD)) == {None}


# --- the report ---------------------------------------------------------------------------------------------------


FACTS = ("position", "to_move", "keeps", "forfeits", "moves")
MOVE_FACTS = ("cell", "name", "probability", "result", "keeps")


def facts_of(position: dict[str, Any]) -> dict[str, Any]:
    """Return what the report keeps of `ttt.show`: a model has no values."""
    moves = [{name: move[name] for name in MOVE_FACTS} for move in position["moves"]]
    return {name: position[name] for name in FACTS} | {"moves": moves}


def report_of(model: LanguageModel, *, symmetric: bool) -> tuple[Any, dict[str, Any]]:
    """Ask and judge a model: return its evaluation against random play, and the whole report.  Raises AgentError."""
    samples = model.samples if model.samples > 1 else None
    with at_board(model, symmetric=symmetric, illegal="loses", time_limit=DAY) as player:
        found = [ttt.judge(player, against=against, samples=samples) for against in ("random", "optimal")]
        shown = [facts_of(ttt.show(player, position).to_dict()) for position in model.known]
    cells = [cell for position in model.known for cell in model.cells(position)]
    empty = model.cells(EMPTY_BOARD)
    lines = [line for lines in model.answers.found.values() for line in lines]
    covers = "one answer to each position; it holds for a model that always answers alike"
    if samples is not None:
        covers = f"{model.samples} answers to each position; a line that loses is possible, all else is an estimate"
    return found[0], {
        "model": model.server.model,
        "covers": covers,
        "positions": len(model.known),
        "answers": len(lines),
        "illegal": sum(named_cell(line["answer"], line["position"]) is None for line in lines),
        "lost_by_illegal_answers": cells.count(None),
        "lost_on_the_empty_board": empty.count(None) / len(empty),
        **{name: sum(line[name] for line in lines) for name in ("prompt_tokens", "completion_tokens")},
        "against_random": found[0].to_dict(),
        "against_best_play": found[1].to_dict(),
        "gives_away": [each for each in shown if each["keeps"] < 1],
    }


def move_text(position: dict[str, Any]) -> str:
    """Return what the model plays in a position, and what would keep the result."""
    played = [f"{move['name']} ({move['result']})" for move in position["moves"] if move["probability"] > 0]
    illegal = ["an illegal move (loss)"] if position["forfeits"] else []
    better = " ".join(move["name"] for move in position["moves"] if move["keeps"])
    mover = "X" if position["to_move"] == "first" else "O"
    return f"{position['position']}  {mover} plays {', '.join(played + illegal)}; better: {better}"


def text_of(report: dict[str, Any]) -> str:
    """Return the report's text below the judgement against random play."""
    best, lost = report["against_best_play"], report["lost_on_the_empty_board"]
    lines = [f"{seat}: loses {best[seat]['loss']:.4f} of its games against best play" for seat in ("first", "second")]
    if lost:
        lines.append(f"{lost:.0%} of its answers on the empty board are illegal; results as first leave these out")
        if lost == 1:
            lines[-1] = "it names no cell on the empty board, so that it loses every game as first"
    lines += ["", f"gives something away in {len(report['gives_away'])} of {report['positions']} positions"]
    lines += [f"  {move_text(position)}" for position in report["gives_away"]]
    tokens = " and ".join(f"{report[f'{side}_tokens']:,} {side}" for side in ("prompt", "completion"))
    illegal = f"{report['illegal']:,} illegal, {report['lost_by_illegal_answers']:,} of these lose"
    lines += ["", f"{report['answers']:,} answers, {illegal}; {tokens} tokens"]
    return "\n".join([*lines, f"the verdict covers {report['covers']}"])


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw the first positions in which the model gives something away: its moves in orange, better ones in blue."""
    from matplotlib.figure import Figure

    shown = report["gives_away"][:MOST_SHOWN]
    rows = max(1, -(-len(shown) // 4))
    figure = Figure(figsize=(8, 2.3 * rows + 0.6), layout="constrained")
    many = len(report["gives_away"])
    figure.suptitle(f"{report['model']} gives something away in {many} of {report['positions']} positions")
    panels = figure.subplots(rows, 4, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, position in zip(panels, shown, strict=False):
        axes.set(xlim=(-0.6, 2.6), ylim=(2.6, -0.6), aspect="equal")
        axes.set_title("an illegal move" if position["forfeits"] else "", fontsize=9)
        for line in (0.5, 1.5):
            axes.plot([line, line], [-0.5, 2.5], [-0.5, 2.5], [line, line], color="0.6", linewidth=1)
        marks = position["position"].replace("/", "")
        for cell, mark in enumerate(marks):
            axes.text(cell % 3, cell // 3, mark.strip("."), ha="center", va="center", fontsize=16)
        for move in position["moves"]:
            said, colour = (f"{move['probability']:.0%}", "#D55E00") if move["probability"] > 0 else ("●", "#0072B2")
            if move["probability"] > 0 or move["keeps"]:
                axes.text(move["cell"] % 3, move["cell"] // 3, said, ha="center", va="center", color=colour)
    figure.savefig(path, dpi=120)


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--symmetric", action="store_true", help="ask about one image of each position")
    parser.add_argument("--samples", type=int, default=1, help="answers in each position (1)")
    parser.add_argument("--repeat", type=int, default=0, help="further questions after an illegal answer (0)")
    parser.add_argument("--temperature", type=float, help="of the answers; the server's own if not given")
    parser.add_argument("--answers", type=Path, default=Path("answers.jsonl"), help="where answers are kept")
    parser.add_argument("--at-once", type=int, default=4, help="most questions at a time (4)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each answer (60)")
    parser.add_argument("--retries", type=int, default=5, help="further tries after a failure (5)")
    parser.add_argument("--wait", type=float, default=1.0, help="seconds before the first one, then doubled (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw what it gives away, PNG or SVG")
    return parser


def run(options: argparse.Namespace, server: Server) -> None:
    """Ask, judge and report.  Raises AgentError and OSError."""
    about = {"model": server.model, "question": question(EMPTY_BOARD), "temperature": options.temperature}
    answers = Answers(options.answers, about)
    print(f"asking {server.model} about each position that its own play reaches ...", file=sys.stderr)
    model = LanguageModel(server, answers, samples=options.samples, repeat=options.repeat, at_once=options.at_once)
    evaluation, report = report_of(model, symmetric=options.symmetric)
    print(evaluation, text_of(report), sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.picture is not None:
        draw(report, options.picture)


def main() -> None:
    """Read the options and the environment, and run."""
    options = parser().parse_args()
    for option, least in ("samples", 1), ("repeat", 0), ("at_once", 1), ("retries", 0), ("timeout", 0.001), ("wait", 0):
        if not getattr(options, option) >= least:
            parser().error(f"--{option.replace('_', '-')} {getattr(options, option)} is below {least}")
    if options.picture is not None and options.picture.suffix not in (".png", ".svg"):
        parser().error(f"--picture {options.picture} ends in neither .png nor .svg")
    address, name, key = (os.environ.get(f"CHAT_{part}", "").strip() for part in ("ADDRESS", "MODEL", "KEY"))
    if not re.fullmatch(r"https?://[!-~]+", address) or not name or not re.fullmatch("[!-~]*", key):
        raise SystemExit("set CHAT_ADDRESS to http://... or https://..., CHAT_MODEL, and CHAT_KEY if there is one")
    goes_on = f"answers are kept in {options.answers}; the same command goes on"
    try:
        run(options, Server(address, name, key, options.temperature, options.timeout, options.retries, options.wait))
    except ttt.AgentError as error:
        raise SystemExit(f"error: {error.__cause__ or error}; {goes_on}") from None
    except OSError as error:
        raise SystemExit(f"error: {error.filename}: {error.strerror}") from None
    except KeyboardInterrupt:
        print(f"stopped; {goes_on}", file=sys.stderr)
        os._exit(130)  # threads still wait for the server


if __name__ == "__main__":
    main()
