"""The HTML report: one file, only its own elements, nothing of the user's but text."""

import base64
import hashlib
import os
import re

import pytest

from html_page import Page

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
STORIES = sorted(name[:-len(".story")] for name in os.listdir(GOLDEN) if name.endswith(".story"))


@pytest.fixture
def page(inferscope, work):
    def render(trace, *options):
        done = inferscope("analyze", trace, "--quiet", "--report", "r.html", *options)
        assert done.returncode == 0
        return (work / "r.html").read_bytes().decode()
    return render


@pytest.mark.parametrize("name", STORIES)
def test_every_page_is_well_formed_and_asks_for_nothing(name, golden, page):
    source = page(golden(name), "--detail", "full")
    parsed = Page(source)
    assert set(parsed.links) <= set(parsed.ids)
    assert len(set(parsed.ids)) == len(parsed.ids)
    markup = re.sub(r"<script type=[^>]*>[^<]*</script>", "", source).split("<script>")[0]
    assert not re.search(r"src=|url\(|@import|http:|//[a-z]", markup)
    assert parsed.text("title").startswith("InferScope")


def test_the_policy_lets_only_our_script_run(golden, page):
    source = page(golden("plain_script"))
    script = re.search("<script>(.*)</script>", source, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search('Content-Security-Policy" content="([^"]*)"', source).group(1)
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-%s'" % digest in policy, "SCRIPT_HASH in report_html.c: " + digest


def test_the_page_says_what_the_markdown_says(golden, inferscope, work):
    trace = golden("gpu_service")
    inferscope("analyze", trace, "--quiet", "--report", "r.html", "--report", "r.md")
    markdown = (work / "r.md").read_text()
    source = (work / "r.html").read_text()
    headings = re.findall("^##+ (.*)$", markdown, re.M)
    shown = [re.sub("<[^>]*>", "", text) for text in re.findall("<h[23]>(.*?)</h[23]>", source)]
    assert shown == [re.sub("`", "", text) for text in headings]
    body = re.sub(r"\|[-:|]+\|\n", "", markdown)
    assert source.count("<tr>") == len(re.findall(r"^\|", body, re.M))
    for chapter in "timeline-breakdown", "steps", "gpu-of-process-100-serve-py":
        section = re.search('<section id="%s">.*?</section>' % chapter, source, re.S).group()
        assert "<svg " in section


def test_rows_have_the_cells_of_their_head_whatever_names_say(golden, page):
    source = page(golden("hostile_names"), "--detail", "full")
    for table in re.findall("<table>.*?</table>", source, re.S):
        assert len(set(Page(table).rows)) == 1
