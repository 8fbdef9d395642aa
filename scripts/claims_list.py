"""The claims that `claims.py` repeats: what each says and where, and how it was repeated.

What is said of the figures, and what a verdict follows from, is in `claims_verdicts.py`; claims about beads and about
softmax play are in `claims_menace.py`.
"""

from claims_menace import CLAIMS as NEWER
from claims_verdicts import (
    Claim,
    against_random,
    draws_itself,
    found_best,
    found_by_setting,
    found_fixed,
    found_millions,
    found_optimal,
    found_starts,
    found_two_seats,
    found_values,
    holds_a_person,
    judged,
    median,
    near,
    needs_millions,
    of_seeds,
    optimal_against_it,
    optimal_as_published,
    plays_well,
    proof,
    results,
    verdicts,
    wins,
)

BOOK = "Sutton and Barto, Reinforcement Learning, 2nd edition"
ANSWERS = "julxi.github.io/notes_and_solutions_reinforcement_learning, chapter 1"
RULE = "Sutton and Barto's rule as published code has it (`sutton-barto`)"

CLAIMS = (
    Claim(
        "preset-sutton-barto",
        "The book's example draws all greedy games against itself",
        "the published code of the book's example, chapter01/tic_tac_toe.py, which `sutton-barto` computes",
        "100,000 games; all greedy games are judged instead of 1,000.",
        verdicts,
        draws_itself,
        headline="sutton-barto",
        brief=lambda report: f"{report['settings'][0]['unbeatable'][1]} of {report['seeds']} unbeatable as second",
    ),
    Claim(
        "preset-value-feed",
        "A table fed with the final reward holds its own against a person after 100,000 games",
        "the published program that `value-feed` computes (`ttt-batch learners value-feed`)",
        "Against a person becomes against every opponent.",
        verdicts,
        holds_a_person,
        headline="value-feed",
    ),
    Claim(
        "preset-minimax-q",
        "After 10,000,000 games greedy self-play is a draw",
        "the published program that `minimax-q` computes (`ttt-batch learners minimax-q`)",
        "All greedy games are judged.",
        verdicts,
        draws_itself,
        headline="minimax-q",
    ),
    Claim(
        "preset-greedy-td",
        "A learner from greedy moves alone holds a person to draws after 30,000 games",
        "a program whose listing is lost; `greedy-td` is our reading (`ttt-batch learners greedy-td`)",
        "Against a person becomes against every opponent.",
        verdicts,
        holds_a_person,
        headline="greedy-td",
    ),
    Claim(
        "openspiel",
        "Q-learning wins 99 and 92 % against random moves after 100,000 games",
        "OpenSpiel, open_spiel/python/examples/tic_tac_toe_qlearner.py, docstring",
        "Around, as the source has it, is within a percentage point, as first and as second. Its step size and "
        "exploration, self-play of two learners; exact results, where it plays 1,000 games.",
        results,
        lambda report: near(report, 0.99, 0.92, 0.01),
        study="openspiel",
        brief=lambda report: "{:.1f} and {:.1f} %".format(*(100 * one for one in wins(report))),
    ),
    Claim(
        "random-opponent",
        "Q-learning wins 100 and 92 % against random moves after 600,000",
        "README of johndzxu/tic-tac-toe (Hack McWiCS 2024)",
        "As first and as second. Exploration and step size are not named there; ours are 0.1. A learner for each "
        "seat; exact results. No player wins more than 99.48 % as first.",
        results,
        lambda report: judged(wins(report)[0] > 0.9999),
        study="random-opponent",
        brief=lambda report: f"no player wins more than {100 * report['exact']['most_wins'][0]:.1f} %",
    ),
    Claim(
        "random-opponent-short",
        "After 5,000 games against random moves Q-learning wins approximately 90 % against them",
        "Autonomous Learning in Tic-Tac-Toe Using Q-Learning, nodes.desci.com/dpid/492, abstract",
        "A learner for each seat; the source names none, and a falling exploration without figures: ours falls from 1 "
        "to 0.05. Both seats together are compared, within three percentage points. The "
        "greedy policy is judged.",
        results,
        lambda report: judged(abs(sum(wins(report)) / 2 - 0.9) <= 0.03),
        study="random-opponent-short",
    ),
    Claim(
        "falling-exploration",
        "After 50,000 games a Q-table wins 99.5 % against random play as first and 92.4 % as second",
        "README of nestedsoftware/tictac, latest results",
        "A learner for each seat learns from random moves alone, where the source mixes in optimal ones; exploration "
        "falls evenly from 0.8 to 0, step size 0.4. Exact results; within a percentage point counts.",
        results,
        lambda report: near(report, 0.995, 0.924, 0.01),
        study="falling-exploration",
    ),
    Claim(
        "two-seats",
        "A good X is pretty straightforward; a good O takes quite a bit of fiddling with the settings",
        "README of nestedsoftware/tictac",
        "Q-learning by self-play for 50,000 games with six settings: epsilon 0.1 and 0.3, alpha 0.1, 0.3 and 0.7. Good "
        "means unbeatable.",
        found_two_seats,
        lambda report: judged(
            all(row["unbeatable"][0] >= row["unbeatable"][1] for row in report["settings"])
            and sum(row["unbeatable"][0] - row["unbeatable"][1] for row in report["settings"]) > 0
        ),
        study="two-seats",
    ),
    Claim(
        "sarsa-stand-off",
        "Two sarsa agents reach a tie stand-off in only 30,000 games and clearly know how to play",
        "ai.stackexchange.com/questions/17435",
        "`sarsa` with our defaults, which the source does not name: epsilon 0.1, alpha 0.1.",
        verdicts,
        plays_well,
        study="sarsa-stand-off",
    ),
    Claim(
        "afterstates",
        "Q-learning on afterstates plays optimally after a little over 30,000 games, all self-play drawn",
        "README of game_playing_scripts by Neil Slater (read in the fork Smeilz/game_playing_scripts)",
        "The nearest rule is `td`, whose one table serves both players, with its own step size and exploration.",
        verdicts,
        plays_well,
        study="afterstates",
    ),
    Claim(
        "ten-thousand",
        "By 10,000 training episodes the book's temporal-difference agent plays optimally",
        "README of sparsh2/tic-tac-toe-RL",
        f"{RULE}, epsilon 0.1, alpha 0.1.",
        verdicts,
        plays_well,
        study="ten-thousand",
    ),
    Claim(
        "fixed-opponent",
        "With a step size reduced properly the moves become optimal against a fixed imperfect opponent",
        f"{BOOK}, section 1.5",
        "The opponent moves at random; a draw is worth as little as a loss, as the book has it; three ways to reduce "
        "the step size, 1/n being that of the n-th visit. Holds if with one of them the mean is within half a "
        "percentage point of the most wins that any player can have, in both seats.",
        found_fixed,
        optimal_against_it,
        study="fixed-opponent",
    ),
    Claim(
        "self-play-draws",
        "Exercise 1.1: against itself the book's learner ends with all games drawn",
        "allthingsphi.com/nb/reinforcement-learning-sb/chapter-01, one reader's answer",
        f"{RULE} for 10,000,000 games, epsilon 0.1, step size 1/n.",
        verdicts,
        draws_itself,
        study="self-play",
    ),
    Claim(
        "self-play-values",
        "Exercise 1.1: against itself the book's learner learns the true value of each position",
        f"{ANSWERS}, one reader's answer",
        "The same runs. Holds if the mean distance is below 0.05, over the positions of which a table knows something.",
        found_values,
        lambda report: judged(report["settings"][0]["error"][0] < 0.05),
        study="self-play",
    ),
    Claim(
        "symmetries",
        "One row for all images of a position speeds up learning",
        f"{ANSWERS}, one reader's answer",
        "Exercise 1.2 of the book; `td` with and without symmetry, not the book's rule.",
        found_by_setting("symmetry"),
        lambda report: judged(median(report["settings"][1]) < median(report["settings"][0])),
        study="symmetries",
        brief=lambda report: "a proof after {1:,} games, not {0:,}".format(
            *(row["proof"][0] for row in report["settings"])
        ),
    ),
    Claim(
        "greedy-play",
        "Exercise 1.3: a learner that never explores may miss better moves for ever, and plays worse",
        f"{ANSWERS}, one reader's answer",
        f"{RULE}, epsilon 0 against 0.1, by the seeds that are unbeatable as first.",
        lambda report: "; ".join(
            f"epsilon {row['epsilon']}: {of_seeds(row, report['seeds'])}, against random play {against_random(row)}"
            for row in report["settings"]
        ),
        lambda report: judged(report["settings"][0]["unbeatable"][0] < report["settings"][1]["unbeatable"][0]),
        study="greedy-play",
    ),
    Claim(
        "random-millions",
        "Against random play temporal-difference learning needs several million games to play well",
        "Fernandez-Conde et al. 2020, doi 10.1007/978-3-030-33846-6_47",
        f"{RULE}, 4,000,000 games in batches of 16,384, epsilon 0.1, a learner for each seat. To play well is to be "
        "unbeatable there; the source plays games. Holds if the median takes a million games or more in either seat.",
        found_millions,
        needs_millions,
        study="random-millions",
    ),
    Claim(
        "curriculum",
        "Even the best curriculum takes temporal-difference learning about 200,000 games",
        "Fernandez-Conde et al. 2020, doi 10.1007/978-3-030-33846-6_47",
        "No curriculum at all: `td` against itself, another rule than theirs. Holds if most seeds need as many games.",
        lambda report: proof(report["settings"][0]),
        lambda report: judged(median(report["settings"][0]) >= 200_000),
        study="symmetries",
    ),
    Claim(
        "n-tuples",
        "An n-tuple agent on 3x3 loses no more after some 1,000 to 2,000 games",
        "Konen, General Board Game playing (GBG), figures of its n-tuple agent",
        "`ntuple-td`, with a proof over every reply each 512 games, where the source samples games. Holds if most "
        "seeds are proved in both seats, and at the end still.",
        lambda report: f"{proof(report['settings'][0])}; at the end {report['settings'][0]['at_end']:.0%} of the seeds",
        lambda report: judged(median(report["settings"][0]) <= 2_048 and report["settings"][0]["at_end"] >= 0.5),
        study="n-tuples",
    ),
    Claim(
        "start-values",
        "Pessimistic start values of a Q-table converge fastest",
        "fcarsten/tic-tac-toe, Part 3 - Tabular Q-Learning",
        "`q-learning` by self-play, on the scale -1 to 1; the source's rule differs (the best of the next position, "
        "alpha 0.9, gamma 0.95). By games to the first proof in both seats.",
        found_by_setting("start_value"),
        lambda report: judged(median(report["settings"][0]) < min(map(median, report["settings"][1:]))),
        study="start-values",
        brief=found_starts,
    ),
    Claim(
        "minimax-is-not-best",
        "A minimax player is not the answer to an imperfect opponent: it avoids what it could win from",
        f"{BOOK}, section 1.5",
        "No learning: the best result against random moves, and the best of players that never can lose.",
        found_best,
        lambda report: judged(report["exact"]["best"][1] > report["exact"]["best_unbeatable"][1]),
    ),
    Claim(
        "optimal-at-random",
        "A minimax player wins 96.1 % against random play as first and 76.6 % as second; random X wins 59.7 %",
        "README of nestedsoftware/tictac, latest results, 1,000 games each",
        "No learning: exact results. Holds if each lies within Wilson's interval of the published share.",
        found_optimal,
        optimal_as_published,
    ),
    *NEWER,
)
"""In the order of the page."""
