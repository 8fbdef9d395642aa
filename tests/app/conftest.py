"""The one browser of each file of tests that need one."""

from collections.abc import Iterator

import pytest
from browser import Browser
from pages import program


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program("chromium", "chromium")
    program("chromedriver", "chromium-driver")
    browser = Browser(tmp_path_factory.mktemp("pages"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The one browser; afterwards nothing was complained about."""
    yield chromium
    assert chromium.errors() == []
    assert chromium.do("return violations") == []
