"""The random numbers in plain integers, written from their description: element 128 * game + n of SplitMix64."""


def mixed(counter: int) -> int:
    """SplitMix64's output for a counter: 64 bits."""
    z = counter % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def drawn(key: int, game: int, number: int) -> int:
    """Draw `number` of a game in the sequence that starts at `key`."""
    return mixed(int(key) + (128 * game + number) * 0x9E3779B97F4A7C15)


def drawn_set(columns: list[int], bits: int) -> int:
    """Return which of the 512 sets of exploring plies a draw from an alias table chooses; see `Explorations.column`."""
    own = bits % 512
    threshold, other = divmod(columns[own], 512)
    return own if bits >> 9 < threshold else other


def plies_of(members: int) -> frozenset[int]:
    """The plies of a set, bit p for ply p."""
    return frozenset(ply for ply in range(9) if members >> ply & 1)


def below(bits: int, n: int) -> int:
    """A number in 0 .. n - 1 from the upper 32 of 64 random bits."""
    return (bits >> 32) * n >> 32
