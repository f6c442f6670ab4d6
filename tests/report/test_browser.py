"""The report in a real browser, headless: it renders, sorts, filters, switches colours, fits a phone, and asks the network for nothing.

Needs Chromium and its driver (Debian: `chromium`, `chromium-driver`; `make browser`). Without them these tests are skipped, but not on CI.
"""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise

import pytest
from report_samples import BENCHMARKS, authors_table, own_records, record, study_records
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from graph2tens.files import write_text
from graph2tens.paper.report.authors_runs import read_authors_runs
from graph2tens.paper.report.data import collect
from graph2tens.paper.report.html.page import render
from graph2tens.report.own.write import write_own_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--hide-scrollbars", "--disable-dev-shm-usage",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        reason = "no Chromium with driver here; `make browser` installs them"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    authors = read_authors_runs(authors_table(folder / "runs.csv"))
    write_text(folder / "study.html", render(collect(study_records(), authors_runs=authors, benchmarks=BENCHMARKS)))
    write_text(folder / "empty.html", render(collect([])))
    write_own_report([record(3, 0.961, dataset="digits", table="train", protocol="paper")], folder / "single.html")
    hostile = "<img src=x onerror=window.hurt=1>" + "endless" * 40
    fields = dict.fromkeys(("dataset", "model", "variant", "protocol", "commit"), hostile)
    options = {hostile: hostile}
    write_own_report([record(0, 0.5, **fields, options=options, machine={"processor": hostile}, table="train")], folder / "hostile.html")
    write_own_report(own_records(), folder / "own.html")
    return folder


@pytest.fixture
def visit(browser, pages):
    """Open a page by name, at a width and in a colour scheme; whatever it logs or requests beyond itself is an error."""

    def _visit(name="study", width=1200, scheme="light", media=""):
        browser.get("about:blank")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
        browser.get_log("performance")
        browser.get((pages / f"{name}.html").as_uri())
        return browser

    yield _visit
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = {m["params"]["request"]["url"].split("#")[0] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in requests if not url.startswith(("file:///", "data:"))} == set()
    assert len([url for url in requests if url.startswith("file:")]) <= 1
    if browser.current_url.startswith("file:"):
        browser.execute_script("localStorage.clear()")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def table_after(browser, heading):
    return browser.find_element(By.XPATH, f"//h3[contains(., '{heading}')]/following::table[1]")


def column(table, heading, *, visible=False):
    headings = [cell.text.strip() for cell in table.find_elements(By.CSS_SELECTOR, "thead th")]
    rows = table.find_elements(By.CSS_SELECTOR, "tbody tr")
    cells = [row.find_elements(By.CSS_SELECTOR, "th, td")[headings.index(heading)] for row in rows if not visible or row.is_displayed()]
    return [cell.text for cell in cells]


def button(table, heading):
    return table.find_element(By.XPATH, f".//thead//button[contains(normalize-space(.), '{heading}')]")


@pytest.mark.parametrize("name", ["study", "single", "own", "empty", "hostile"])
def test_the_page_renders(visit, name):
    browser = visit(name)
    assert browser.find_element(By.TAG_NAME, "h1").is_displayed()
    assert browser.execute_script("return document.documentElement.classList.contains('js')")
    assert browser.execute_script("return window.hurt === undefined && document.querySelectorAll('img').length === 0")
    assert browser.execute_script("""
        return [...document.querySelectorAll('main svg')].filter(s => s.checkVisibility()).map(s => s.getBoundingClientRect())
          .every(box => box.width > 50 && box.height > 10)""")


def test_a_newcomer_sees_the_outcome_first(visit):
    browser = visit()
    seen = browser.find_element(By.ID, "minute").text
    assert "what it has seen on its way, and in which order" in seen
    assert "agree with the paper" in seen
    assert browser.find_element(By.CSS_SELECTOR, "#minute .figures").location["y"] < 900  # on the first screen


def test_clicking_a_heading_sorts_and_says_so(visit):
    table = table_after(visit(), "chemical compounds")
    heading = button(table, "Ours, %")
    cell = heading.find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") == "none"
    heading.click()
    assert cell.get_attribute("aria-sort") == "descending"
    shown = [value for value in column(table, "Ours, %") if "." in value]
    assert len(shown) == 3
    assert [float(value.split()[0]) for value in shown] == sorted((float(value.split()[0]) for value in shown), reverse=True)
    heading.click()
    assert cell.get_attribute("aria-sort") == "ascending"
    assert "." not in column(table, "Ours, %")[-1]  # what was not run stays last either way
    button(table, "Data").click()
    assert cell.get_attribute("aria-sort") == "none"
    assert column(table, "Data") == sorted(column(table, "Data"))


def test_signed_numbers_sort_as_numbers(visit):
    table = table_after(visit(), "every labelled article")
    button(table, "Std. errors").click()
    values = [float(value.replace("\N{MINUS SIGN}", "-")) for value in column(table, "Std. errors")]
    assert min(values) < 0 < max(values)
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE], ids=["enter", "space"])
def test_headings_sort_from_the_keyboard(visit, key):
    table = table_after(visit(), "subject of scientific articles")
    heading = button(table, "Paper, %")
    heading.send_keys(key)
    values = [float(value.split()[0]) for value in column(table, "Paper, %")]
    assert values == sorted(values, reverse=True)
    assert heading.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"


def test_filters_act_on_tables_and_pictures(visit):
    browser = visit()
    status = browser.find_element(By.ID, "shown")
    everything = status.text
    assert everything == "57 of 57 cells shown"
    Select(browser.find_element(By.CSS_SELECTOR, "[data-facet=dataset]")).select_by_value("Cora")
    Select(browser.find_element(By.CSS_SELECTOR, "[data-facet=model]")).select_by_value("G2TAN")
    assert status.text == "4 of 57 cells shown"
    assert set(column(table_after(browser, "subject of scientific"), "Data", visible=True)) == {"Cora"}
    captions = [figure.text for figure in browser.find_elements(By.CSS_SELECTOR, "#seeds figure") if figure.is_displayed()]
    assert len(captions) == 4
    assert all("G2TAN, Cora" in caption for caption in captions)
    assert [figure.text for figure in browser.find_elements(By.CSS_SELECTOR, "#seconds figcaption") if figure.is_displayed()] == ["Cora"]
    browser.find_element(By.CSS_SELECTOR, ".filters [type=reset]").click()
    browser.execute_async_script("setTimeout(arguments[0], 20)")
    assert status.text == everything


def test_filters_work_from_the_keyboard(visit):
    browser = visit()
    search = browser.find_element(By.ID, "search")
    search.send_keys("CiteSeer 2 hops", Keys.ENTER)  # Enter must not reload the page
    assert browser.find_element(By.ID, "shown").text == "2 of 57 cells shown"
    search.send_keys(Keys.TAB)
    chosen = browser.switch_to.active_element
    assert chosen.get_attribute("data-facet") == "dataset"
    chosen.send_keys("N")  # jumps to NCI1
    assert browser.find_element(By.ID, "shown").text == "0 of 57 cells shown"


def test_a_word_finds_beginnings_until_it_is_a_whole_word(visit):
    browser = visit()
    search = browser.find_element(By.ID, "search")
    search.send_keys("nci")
    compounds = table_after(browser, "chemical compounds")
    assert set(column(compounds, "Data", visible=True)) == {"NCI1", "NCI109"}
    search.send_keys("1")
    assert set(column(compounds, "Data", visible=True)) == {"NCI1"}
    search.clear()
    search.send_keys("cora 2")  # not the 2 of G2TN
    assert browser.find_element(By.ID, "shown").text == "2 of 57 cells shown"
    headings = browser.find_elements(By.CSS_SELECTOR, "#tables h3")
    assert [heading.text for heading in headings if heading.is_displayed()] == [
        heading.text for heading in headings if "k hops" in heading.get_attribute("textContent")
    ]


def test_only_what_scrolls_is_a_stop_of_the_keyboard(visit):
    script = """
        return [...document.querySelectorAll('.scroll')].filter(r => r.checkVisibility())
          .map(r => [r.tabIndex, r.scrollWidth > r.clientWidth])"""
    for width in (1200, 390):
        assert all((stop == 0) == scrolls for stop, scrolls in visit(width=width).execute_script(script))


def background(browser):
    return [
        int(part) for part in browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g)")
    ][:3]


def test_colours_follow_the_system_and_the_button(visit):
    assert min(background(visit(scheme="light"))) > 200
    browser = visit(scheme="dark")
    assert max(background(browser)) < 60
    toggle = browser.find_element(By.ID, "theme")
    assert toggle.get_attribute("aria-label") == "Switch to light colours"
    toggle.send_keys(Keys.ENTER)
    assert min(background(browser)) > 200
    browser.refresh()
    assert min(background(browser)) > 200  # remembered


@pytest.mark.parametrize("name", ["study", "single", "own", "empty", "hostile"])
@pytest.mark.parametrize("width", [320, 375, 1280])
def test_a_narrow_screen_never_scrolls_sideways(visit, name, width):
    browser = visit(name, width=width)
    for folded in browser.find_elements(By.TAG_NAME, "summary"):
        browser.execute_script("arguments[0].parentElement.open = true", folded)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_phone_shows_the_accuracies_without_scrolling(visit):
    browser = visit("own", width=375)
    cell = browser.find_element(By.CSS_SELECTOR, "#result tbody tr td")
    assert cell.text == "81.0 ± 1.4"
    assert cell.rect["x"] + cell.rect["width"] <= 375
    boxes = [figure.rect for figure in browser.find_elements(By.CSS_SELECTOR, ".figures dd")]
    assert all(box["x"] + box["width"] <= 375 for box in boxes)


SMALLEST_CONTRAST = """
const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const rgb = (colour) => {
  context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ground = (element) => {
  for (; element; element = element.parentElement) { const c = rgb(getComputedStyle(element).backgroundColor); if (c[3] === 255) return c; }
  return [255, 255, 255, 255];
};
let worst = [99, ''];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || ['SCRIPT', 'title', 'desc'].includes(element.tagName) || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(rgb(element.ownerSVGElement ? style.fill : style.color)), light(ground(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < worst[0]) worst = [contrast, walker.currentNode.data];
}
return worst;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["study", "own"])
def test_all_text_has_contrast_aa(visit, name, scheme):
    contrast, text = visit(name, scheme=scheme).execute_script(SMALLEST_CONTRAST)
    assert contrast >= 4.5, text


def test_the_page_can_be_heard(visit):
    browser = visit()
    assert browser.execute_script("""
        return [...document.querySelectorAll('svg:not([aria-hidden])')].every(s => s.getAttribute('role') === 'img'
          && ['aria-labelledby', 'aria-describedby'].every(name => document.getElementById(s.getAttribute(name)).textContent.trim()))""")
    # What is hidden from the ear is said in words beside it.
    assert browser.execute_script("return [...document.querySelectorAll('svg[aria-hidden]')].every(s => s.nextSibling.textContent.trim())")
    assert browser.execute_script("""
        return [...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent.trim()
          && [...t.querySelectorAll('th')].every(c => ['col', 'row'].includes(c.scope)))""")
    assert browser.execute_script("return [...document.querySelectorAll('select, input')].every(e => e.labels.length === 1)")
    levels = [int(heading.tag_name[1]) for heading in browser.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4")]
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert browser.execute_script("return document.documentElement.lang") == "en"
    # Verdicts are words beside their mark and colour.
    assert browser.execute_script("return [...document.querySelectorAll('.verdict')].every(v => v.textContent.trim().length > 5)")


def test_tab_goes_through_the_page_and_shows_where_it_is(visit):
    browser = visit()
    names = []
    for _ in range(30):
        browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB) if not names else browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        assert focused.is_displayed()
        assert browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", focused) != "none"
        names.append(focused.text or focused.get_attribute("data-facet") or focused.get_attribute("id") or "")
    assert names[:3] == ["Skip to the content", "Dark", "In one minute"]
    assert {"search", "Data", "Verdict"} <= {name.strip() for name in names} | {"search"}


OVERLAPS = """
const boxes = (svg) => [...svg.querySelectorAll('text')].map((t) => [t.textContent, t.getBoundingClientRect()]);
const bad = [];
for (const svg of document.querySelectorAll('svg.chart')) {
  if (!svg.checkVisibility()) continue;
  const frame = svg.getBoundingClientRect(), texts = boxes(svg);
  texts.forEach(([text, box], i) => {
    if (box.left < frame.left - 2 || box.right > frame.right + 6 || box.bottom > frame.bottom + 2) bad.push(['outside', text]);
    for (const [other, that] of texts.slice(0, i)) {
      const beside = box.left >= that.right - 1 || that.left >= box.right - 1;
      if (!beside && box.top < that.bottom - 3 && that.top < box.bottom - 3) bad.push([text, other]);
    }
  });
}
return bad;
"""


@pytest.mark.parametrize("name", ["study", "own", "empty"])
@pytest.mark.parametrize("width", [375, 1200])
def test_labels_of_pictures_neither_collide_nor_leave_the_picture(visit, name, width):
    assert visit(name, width=width).execute_script(OVERLAPS) == []


def test_bars_of_a_table_share_their_zero(visit):
    columns = visit().execute_script("""
        return [...document.querySelectorAll('table')].map(
          t => [...t.querySelectorAll('.interval .zero')].map(z => z.getBoundingClientRect().left))""")
    assert sum(len(column) > 5 for column in columns) >= 3
    assert all(max(column) - min(column) < 0.1 for column in columns if column)


def test_without_scripts_everything_is_still_readable(visit, browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    visit()
    assert table_after(browser, "chemical compounds").is_displayed()
    assert not browser.find_element(By.CSS_SELECTOR, "form.filters").is_displayed()
    assert not browser.find_element(By.ID, "theme").is_displayed()


def test_print_is_black_on_white_without_controls(visit):
    browser = visit(width=700, scheme="dark", media="print")  # A4 less its margins
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 700
    assert background(browser) == [255, 255, 255]
    assert not browser.find_element(By.CSS_SELECTOR, "form.filters").is_displayed()
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return [...document.querySelectorAll('details')].every(d => d.open !== d.matches('.long'))")
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not browser.execute_script("return [...document.querySelectorAll('details')].some(d => d.open)")
