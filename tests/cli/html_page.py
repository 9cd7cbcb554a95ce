"""Reads the HTML report with the standard library's parser and insists on its grammar."""

import html.parser
import re

VOID = {"meta", "wbr", "line", "path"}
ELEMENTS = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"},
    "title": set(), "style": set(), "body": set(), "nav": {"aria-label"}, "a": {"href"},
    "main": set(), "header": set(), "section": {"id"}, "h1": set(), "h2": set(), "h3": set(),
    "p": {"class"}, "ul": set(), "li": set(), "strong": set(), "code": set(), "wbr": set(),
    "table": set(), "thead": set(), "tbody": set(), "tr": set(), "th": {"scope", "class"},
    "td": {"class"}, "div": {"class", "tabindex"}, "figure": set(), "figcaption": set(),
    "svg": {"class", "viewbox", "role", "aria-label", "x", "width", "height"},
    "rect": {"class", "x", "y", "width", "height"}, "path": {"class", "d"},
    "line": {"class", "x1", "x2", "y1", "y2"}, "circle": {"cx", "cy", "r"},
    "text": {"class", "x", "y", "text-anchor"}, "script": {"type", "id"},
}


class Page(html.parser.HTMLParser):
    """Reads a page and insists on its grammar; text: what it says, chapters: their headings."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.ids, self.links, self.rows = [], {}, [], [], []
        self.is_data = False
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        names = {name for name, _ in attrs}
        assert names <= ELEMENTS[tag], (tag, attrs)
        values = dict(attrs)
        # Data for the timeline: of a type that no browser runs.
        self.is_data = tag == "script" and bool(attrs)
        if self.is_data:
            assert values["type"] == "application/octet-stream"
            assert re.fullmatch(r"tl-(meta|\d+)", values["id"])
        if "id" in values:
            self.ids.append(values["id"])
        if "href" in values:
            assert re.fullmatch("#[a-z0-9-]*", values["href"])
            self.links.append(values["href"][1:])
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script" and self.is_data:
            assert re.fullmatch("[A-Za-z0-9+/]*=*", data)
            return
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def text(self, tag):
        return "".join(self.texts.get(tag, []))
