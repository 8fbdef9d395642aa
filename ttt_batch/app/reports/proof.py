"""What `prove` prints."""

from ttt_batch.analysis.proving import Proofs
from ttt_batch.app.reports.layout import hanging
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import count_text
from ttt_batch.evaluation.ties import meaning
from ttt_batch.game.notation import moves_text
from ttt_batch.proofs.prover import ALWAYS_WINS, Proof


def proofs_text(proofs: Proofs, name: str = "") -> str:
    """What was found in each seat, with a game that misses the goal, and the certificates written."""
    title = f"{name}: {proofs.run.config.learner} on {proofs.board.name}".removeprefix(": ")
    lines = [title, f"ties: {meaning(proofs.ties)}", ""]
    for seat, proof in proofs.found.items():
        lines += _seat_lines(proofs, seat, proof)
    for path, size in proofs.certificates.values():
        told = (
            f"certificate: {shown(path)}, {count_text(size, 'position')} with a move each, the first of those that tie"
        )
        lines += hanging("", told, 0)
    return "\n".join(lines)


def _seat_lines(proofs: Proofs, seat: str, proof: Proof) -> list[str]:
    goal = "always wins" if proofs.goal == ALWAYS_WINS else "cannot lose"
    size = f"{count_text(proof.positions, 'position')} in {proof.seconds:.2f} s"
    if proof.status == "proved":
        return [f"{seat} {goal}: proved, {size}"]
    if proof.line is None:
        why = "memory is full" if proof.full else "the budget is spent"
        return [f"{seat} {goal}: undecided, {size}; {why}"]
    missed = "does not always win" if proofs.goal == ALWAYS_WINS else "can lose"
    return [f"{seat} {missed}: refuted, {size}", *hanging("", moves_text(proofs.board, proof.line), 2)]
