"""Runs to play against."""

import functools

import pytest

import ttt_batch as ttt


@pytest.fixture(scope="session")
def trained():
    """A short run of td by its seed."""
    return functools.cache(lambda seed, **options: ttt.train(500, learner="td", seed=seed, **options))
