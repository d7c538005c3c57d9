# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Looks at a page with Chromium, which has no network, and tells what is to be seen.

The browser and its driver are Debian's, so that they fit each other; selenium speaks to
the driver and fetches nothing.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from lab.tools import TOOLS

DESK, PHONE = 1280, 390
HEIGHT = 900
DRAWN_LIMIT_S = 30.0
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # root has none
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:1",  # where nobody answers
)
# What the page shows, measured in the page itself.
LOOK = """
const seen = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
const parts = (c) => c.replace("rgba(", "").replace("rgb(", "").split(",").map(parseFloat);
const light = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const colour = parts(getComputedStyle(e).backgroundColor);
    if (colour.length < 4 || colour[3] > 0.99) return colour;
  }
  return [255, 255, 255];
};
const contrast = (e) => {
  const style = getComputedStyle(e);
  const [a, b] = [light(parts(e.ownerSVGElement ? style.fill : style.color)), light(ground(e))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
const named = (e) => `${e.tagName} ${e.className.baseVal ?? e.className} ${e.textContent.trim()}`
  .slice(0, 80);
const texts = [...document.body.querySelectorAll("*")]
  .filter((e) => own(e) && seen(e) && !["SCRIPT", "STYLE"].includes(e.tagName));
const scrolled = (e) => e.closest(".scroll, .skip, svg") !== null;
const hasSize = (e) => { const r = e.getBoundingClientRect(); return r.width + r.height > 1; };
return {
  width: document.documentElement.scrollWidth,
  outside: [...document.body.querySelectorAll("*")]
    .filter((e) => seen(e) && !scrolled(e) && e.getBoundingClientRect().right > arguments[0] + 1)
    .map(named),
  cut: [...document.querySelectorAll(".scroll")]
    .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.getAttribute("aria-label")),
  small: texts.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 12).map(named),
  pale: texts.filter((e) => contrast(e) < 4.5).map(named),
  charts: [...document.querySelectorAll(".chart")].map((e) =>
    [...e.querySelectorAll(".trace .point path, .trace .lines path")].filter(hasSize).length),
  whiskers: document.querySelectorAll(".chart .trace .errorbar path").length,
  unnamed: [...document.querySelectorAll("table, .chart")]
    .filter((e) => !e.getAttribute("aria-label")).map(named),
  headless: [...document.querySelectorAll("table")]
    .filter((e) => !e.querySelector("th[scope=col]") || !e.querySelector("th[scope=row]"))
    .map(named),
  text: document.body.innerText,
  title: document.title,
};
"""


@dataclass(frozen=True)
class Seen:
    """A page as a browser shows it; lists of what is wrong are empty when nothing is."""

    title: str
    text: str  # that can be read, nothing being opened or clicked
    charts: list[int]  # the marks that are drawn in each
    whiskers: int
    width: int  # of all of it, in pixels
    outside: list[str]  # right of the window, where nothing scrolls by itself
    cut: list[str]  # tables that have to be scrolled
    small: list[str]  # text of less than 12 pixels
    pale: list[str]  # text whose contrast is less than 4.5
    unnamed: list[str]  # tables and charts that a screen reader has no name for
    headless: list[str]  # tables without heads of columns and rows
    requests: list[str]  # of anything but the page itself
    console: list[str]


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """A browser without network, which ends with its use."""
    paths = {tool.name: tool.path() for tool in TOOLS}
    options = webdriver.ChromeOptions()
    options.binary_location = str(paths["chromium"])
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(paths["chromedriver"])))
    try:
        yield driver
    finally:
        driver.quit()


def look(page: Path, width: int = DESK, is_dark: bool = False) -> Seen:
    """Opens a page and waits for its charts."""
    with browser() as driver:
        emulate(driver, width, is_dark)
        driver.get(page.as_uri())
        WebDriverWait(driver, DRAWN_LIMIT_S).until(is_drawn, f"{page}: charts are not drawn")
        driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 100))")
        found = driver.execute_script(LOOK, width)
        console = [entry["message"] for entry in driver.get_log("browser")]
        return Seen(requests=requests_of(driver, page), console=console, **found)


def is_drawn(driver: webdriver.Chrome) -> bool:
    """Whether every place for a chart has one."""
    return driver.execute_script(
        "return [...document.querySelectorAll('.chart')].every((e) => e.querySelector('svg'))"
    )


def emulate(driver: webdriver.Chrome, width: int, is_dark: bool) -> None:
    """A desk's screen, or a phone's with fingers on it."""
    is_phone = width < 600
    metrics = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": is_phone}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": is_phone})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def requests_of(driver: webdriver.Chrome, page: Path) -> list[str]:
    """What the page asked for, itself and what lies within it left out."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if url != page.as_uri() and not url.startswith(("data:", "blob:"))]
