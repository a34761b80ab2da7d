"""The page in a real browser: Chromium of the system's packages, headless, driven by Playwright."""

import os
import re
import shutil

import numpy as np
import pytest

import metricfit as mf
from metricfit.explorer.choices import LIMITS, OBJECTIVES

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser test needs Playwright, of the extra 'dev'"
)
expect = playwright.expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000  # milliseconds; a busy machine

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium; install the package chromium to run this"
    ),
    # Playwright's own loop is closed by its context manager; what its transport leaves is not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(payments, attributes):
    floor = ["precision('fraud') >= 0.8"]
    with mf.explore(
        payments.proba,
        payments.y,
        "g_mean",
        floor,
        sensitive_features=attributes,
        counting="calibrated",
        open_browser=False,
    ) as made:
        yield made


@pytest.fixture
def page(chromium, served):
    context = chromium.new_context(accept_downloads=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    made, troubles = context.new_page(), []
    made.on("pageerror", lambda error: troubles.append(str(error)))
    made.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    made.goto(served.url)
    expect(made.locator("#value")).to_have_text(NUMBER, timeout=PATIENCE)
    yield made
    context.close()
    assert troubles == []


NUMBER = re.compile(r"^0\.\d{4}$")


def value(page):
    return float(page.inner_text("#value"))


def test_a_slider_moves_value_and_curve(page, payments, attributes):
    expect(page.locator("#here")).to_be_visible(timeout=PATIENCE)
    before, place = value(page), page.locator("#here").get_attribute("cx")
    slider = page.get_by_role("slider", name="precision('fraud') at least", exact=True)
    slider.focus()
    for _ in range(8):  # by keyboard, a step of 0.005 each
        page.keyboard.press("ArrowRight")
    best = mf.optimize(
        payments.proba,
        payments.y,
        "g_mean",
        "precision('fraud') >= 0.84",
        sensitive_features=attributes,
        counting="calibrated",
    )
    expect(page.locator("#limits .now")).to_contain_text("now 0.840", timeout=PATIENCE)
    assert value(page) == pytest.approx(best.value, abs=3e-4)
    assert value(page) < before
    assert float(page.locator("#here").get_attribute("cx")) > float(place)
    expect(page.locator("#facts")).to_contain_text("[", timeout=PATIENCE)  # the interval on new rows
    expect(page.locator("#kept")).to_contain_text(
        re.compile(r"\d\], (likely met|open|likely violated)"), timeout=PATIENCE
    )
    expect(page.locator("#groups table")).to_contain_text("north")


SOLVED = re.compile(r"^\d+ ms$")
METRICS = [(words, text) for text, words in OBJECTIVES]


@pytest.mark.parametrize(("words", "text"), METRICS, ids=[text for _, text in METRICS])
def test_every_metric_is_moved_by_a_slider(page, words, text):
    page.select_option("#objective", label=words)
    if "{c}" in text:
        page.select_option("#objective-class", label="fraud")
    slider = page.get_by_role("slider", name="precision('fraud') at least", exact=True)
    slider.focus()
    for limit in ("0.81", "0.82"):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#kept .name")).to_contain_text([f"at least {limit}"], timeout=PATIENCE)
        expect(page.locator("#state")).to_have_text(SOLVED, timeout=PATIENCE)
        expect(page.locator("#value")).to_have_text(NUMBER)
        expect(page.locator("#objective-error")).to_be_hidden()
    expect(page.locator("#here")).to_be_visible(timeout=PATIENCE)


@pytest.mark.parametrize(("text", "sense", "words"), LIMITS, ids=[text for text, _, _ in LIMITS])
def test_every_limit_is_moved_by_a_slider(page, text, sense, words):
    page.get_by_role("button", name="Remove precision").click()
    page.select_option("#limit", label=words)
    if "{c}" in text:
        page.select_option("#limit-class", label="fraud")
    page.click("#add")
    slider = page.locator("#limits input[type=range]")
    expect(slider).to_be_focused()
    before = float(slider.input_value())
    page.keyboard.press("ArrowLeft" if sense == ">=" else "ArrowRight")
    assert float(slider.input_value()) != before
    limit = f"{float(slider.input_value()):g}"
    expect(page.locator("#kept .name")).to_contain_text([limit], timeout=PATIENCE)
    expect(page.locator("#state")).to_have_text(SOLVED, timeout=PATIENCE)
    expect(page.locator("#kept tbody td:nth-child(3)")).to_have_text("met")


def test_the_policy_is_on_its_curve(page):
    here = page.locator("#here")
    expect(here).to_be_visible(timeout=PATIENCE)
    place = [f"{float(here.get_attribute(name)):.1f}" for name in ("cx", "cy")]
    assert ",".join(place) in page.locator("#curve path.line").get_attribute("d")


def test_long_names_take_lines_and_nothing_is_cut(chromium, payments, attributes):
    names = {"fraud": "confirmed fraudulent transaction with a chargeback dispute"}
    y = [names.get(label, label) for label in payments.y]
    classes = [names.get(str(label), str(label)) for label in payments.classes]
    groups = attributes.rename(columns={"region": "region_of_residence_of_the_account_holder"})
    fair = [f"precision({names['fraud']!r}) >= 0.8", f"demographic_parity(over={groups.columns[0]!r}) <= 0.1"]
    with mf.explore(
        payments.proba, y, "g_mean", fair, classes=classes, sensitive_features=groups, open_browser=False
    ) as served:
        shown = chromium.new_page(viewport={"width": 390, "height": 844})
        shown.goto(served.url)
        expect(shown.locator("#here")).to_be_visible(timeout=PATIENCE)
        assert shown.evaluate("() => document.documentElement.scrollWidth") <= 390
        cut = shown.evaluate(
            "() => [...document.querySelectorAll('#controls, #controls section, .card')]"
            ".filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 80))"
        )
        outside = shown.evaluate(
            "() => [...document.querySelectorAll('#curve text')].filter((one) => {"
            " const a = one.getBoundingClientRect(), b = one.ownerSVGElement.getBoundingClientRect();"
            " return a.left < b.left - 1 || a.right > b.right + 1; })"
            ".map((one) => one.textContent)"
        )
        shown.close()
    assert (cut, outside) == ([], [])


def test_a_limit_is_added_and_removed(page):
    page.select_option("#limit", label="Groups: difference in the recall of a class")
    page.select_option("#limit-class", label="fraud")
    page.click("#add")
    expect(page.locator("#limits li")).to_have_count(2)
    expect(page.locator("#kept tbody tr")).to_have_count(2, timeout=PATIENCE)
    page.get_by_role("button", name="Remove equal_opportunity").click()
    expect(page.locator("#kept tbody tr")).to_have_count(1, timeout=PATIENCE)


def test_limits_that_cannot_be_kept_are_mended_by_a_click(page):
    page.select_option("#limit", label="Written as text…")
    page.fill("#limit-text", "recall('fraud') >= 0.99")
    page.click("#add")
    expect(page.locator("#infeasible")).to_contain_text(
        "No policy keeps these limits together", timeout=PATIENCE
    )
    expect(page.locator("#curve-words")).to_contain_text(
        "The limit asked for, dotted, cannot be kept with the others.", timeout=PATIENCE
    )
    # Each limit is told as the message and the button have it: rounded to what can be kept.
    offered = page.inner_text("#infeasible p").split("can be kept: ")[1]
    for told in page.locator("#limits .now").all_inner_texts():
        assert told.split(";")[0].removeprefix("can be kept together: ") in offered
    page.click("#use-nearest")
    expect(page.locator("#infeasible")).to_be_hidden(timeout=PATIENCE)
    states = page.locator("#kept tbody td:nth-child(3)")
    expect(states).to_have_text(["met"] * states.count())


def test_another_metric_is_picked(page, payments, attributes):
    page.select_option("#objective", label="Accuracy")
    expect(page.locator("#value-name")).to_contain_text("ccuracy", timeout=PATIENCE)
    best = mf.optimize(
        payments.proba,
        payments.y,
        "accuracy",
        "precision('fraud') >= 0.8",
        sensitive_features=attributes,
        counting="calibrated",
    )
    assert value(page) == pytest.approx(best.value, abs=3e-4)


def test_the_policy_is_downloaded(page, tmp_path, payments, attributes):
    with page.expect_download(timeout=PATIENCE) as started:
        page.get_by_role("button", name="Policy").click()
    started.value.save_as(tmp_path / "policy.json")
    policy = mf.Policy.load(tmp_path / "policy.json")
    assert policy.provenance["objective"] == "g_mean()"
    assert len(policy.decide(payments.proba, attributes)) == 2000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(chromium, served, scheme, tmp_path):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(served.url)
    expect(page.locator("#value")).to_have_text(NUMBER, timeout=PATIENCE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    if folder := os.environ.get("METRICFIT_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/explorer-phone-{scheme}.png", full_page=True)
    context.close()


def test_every_field_has_a_name(page):
    nameless = page.evaluate(
        "() => [...document.querySelectorAll('input, select, button')]"
        ".filter((one) => !one.labels?.length && !one.ariaLabel && !one.textContent.trim()).map((one) => one.outerHTML)"
    )
    assert nameless == []


def test_tables_of_a_report_fit_a_desktop(chromium, tmp_path):
    pytest.importorskip("matplotlib", reason="the report needs the extra 'plot'")
    # Sure probabilities give the longest rates: 100.0 %, with an interval up to 100.0.
    group = np.repeat(["big", "small"], 300)
    y = (np.arange(600) % 10 < np.where(group == "big", 8, 2)).astype(int)
    proba = np.where(y[:, None] == [0, 1], 0.995, 0.005)
    parity = mf.demographic_parity(over="age group") <= 0.4
    groups = {"age group": group}
    result = mf.optimize(proba, y, "g_mean", [parity], sensitive_features=groups, counting="calibrated")
    result.report(tmp_path / "report.html")
    shown = chromium.new_page(viewport={"width": 1000, "height": 900})
    shown.goto((tmp_path / "report.html").as_uri())
    widths = shown.eval_on_selector_all(
        "section .scroll", "found => found.map((one) => one.scrollWidth - one.clientWidth)"
    )
    shown.close()
    assert len(widths) >= 3
    assert max(widths) <= 0
