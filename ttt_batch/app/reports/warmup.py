"""What `warmup` prints."""

from typing import Any

from ttt_batch.analysis.warmup import Warmth
from ttt_batch.base.files import shown
from ttt_batch.base.quantities import counted


def warmth_summary(warmth: Warmth) -> dict[str, Any]:
    """What `warmup --json` prints."""
    return {
        "compiled": warmth.compiled,
        "seconds": warmth.seconds,
        "kernels": warmth.kernels,
        "bytes": warmth.size,
        "cache": str(warmth.cache),
    }


def warmth_text(warmth: Warmth) -> str:
    """What `warmup` prints."""
    if warmth.compiled:
        first = f"compiled in {warmth.seconds:.1f} s, for {', '.join(warmth.compiled)}"
    else:
        first = f"everything is compiled already (looked for {warmth.seconds:.1f} s)"
    kernels = f"{counted(warmth.kernels, 'kernel')}, {warmth.size / 1e6:.1f} MB"
    return f"{first}\n{kernels}, in {shown(warmth.cache)}"
