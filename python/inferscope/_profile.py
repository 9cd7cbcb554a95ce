"""profile(): records a block of code and gives its results as an object.

The recording is the one that start() makes.  Results are read from report.json and, for other
formats, made from the trace by `inferscope analyze`.
"""

import html
import json
import os
import shutil
import subprocess
import tempfile
import weakref

from inferscope._program import find_program


class Table(list):
    """Rows of a section of report.json, each a dict."""

    def __init__(self, rows, columns):
        super().__init__(rows)
        self.columns = columns  # those that are shown

    def to_pandas(self):
        import pandas

        return pandas.DataFrame(list(self))

    def to_arrow(self):
        import pyarrow

        return pyarrow.Table.from_pylist(list(self))

    def _repr_html_(self):
        head = "".join("<th>%s</th>" % html.escape(c) for c in self.columns)
        rows = ("".join("<td>%s</td>" % html.escape(_text(row.get(c))) for c in self.columns)
                for row in self[:20])
        more = "" if len(self) <= 20 else "<p>%d more rows</p>" % (len(self) - 20)
        return "<table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (
            head, "".join("<tr>%s</tr>" % row for row in rows), more)


class Profile:
    """What a profile() block did.  The results are there when the block has ended."""

    def __init__(self, settings):
        self._settings = settings
        self._data = None
        self._folder = None
        self._trace = None

    # --- recording ---

    def __enter__(self):
        from inferscope import _recorder

        if self._folder:
            raise RuntimeError("a profile records one block only: call profile() again")
        settings = dict(self._settings)
        self._folder = tempfile.mkdtemp(prefix="inferscope-")
        # Removed when the object is collected or the program ends.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._trace = settings.pop("trace", None) or os.path.join(self._folder, "trace.isc")
        self._json = os.path.join(self._folder, "report.json")
        reports = settings.pop("report", None) or []
        if not isinstance(reports, (list, tuple)):
            reports = [reports]
        _recorder.start([self._json] + list(reports), self._trace, settings, join=False)
        return self

    def __exit__(self, kind, value, traceback):
        from inferscope import _recorder

        _recorder.stop()
        return False

    # --- results ---

    @property
    def data(self):
        """All of report.json (docs/schema/report.schema.json)."""
        if self._data is None:
            try:
                with open(self._json, encoding="utf-8") as file:
                    self._data = json.load(file)
            except (AttributeError, FileNotFoundError):
                raise RuntimeError("the profile has no results: its block has not ended, or the "
                                   "recorder failed (its message is on standard error)") from None
        return self._data

    @property
    def trace(self):
        """The trace file; deleted with this object unless profile(trace=...) named it."""
        return self._trace

    @property
    def verdict(self):
        return self.data["verdict"]

    @property
    def findings(self):
        return Table(self.data["findings"], ["id", "title", "confidence", "saving_ms", "where"])

    @property
    def steps(self):
        return Table(self.data["steps"],
                     ["name", "source", "count", "mean_ms", "p50_ms", "p95_ms", "p99_ms"])

    @property
    def functions(self):
        return Table(self.data["cpu"].get("functions") or [],
                     ["name", "file", "line", "calls", "self_ms", "total_ms"])

    @property
    def layers(self):
        return Table(self.data["layers"], ["name", "calls", "cpu_ms", "gpu_ms", "kernels"])

    @property
    def kernels(self):
        return Table(self._gpu("kernels"), ["name", "count", "ms"])

    @property
    def copies(self):
        return Table(self._gpu("copies"), ["kind", "count", "bytes", "ms"])

    def _gpu(self, key):
        return (self.data["gpu"] or {}).get(key) or []

    def report(self):
        """The summary that `inferscope run` prints."""
        return self._analyze()

    def to_markdown(self, path=None):
        """Writes the Markdown report to path, or returns it."""
        return self._analyze("--report", path) if path else self._analyze("--report", "-",
                                                                          "--quiet")

    def to_html(self, path):
        self._analyze("--report", path)

    def to_json(self, path):
        self._analyze("--report", path)

    def _analyze(self, *options):
        if not self._trace or not os.path.exists(self._trace):
            raise RuntimeError("the profile has no trace")
        words = [find_program(), "analyze", self._trace] + [os.fspath(o) for o in options]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace").strip())
        return done.stdout.decode(errors="replace")

    # --- how it shows itself ---

    def __repr__(self):
        try:
            return "<inferscope.Profile: %s>" % _headline(self.data)
        except RuntimeError:
            return "<inferscope.Profile: no results yet>"

    def _repr_html_(self):
        data = self.data
        parts = ["<p><b>%s</b><br>%s</p>" % (html.escape(_headline(data)),
                                              html.escape(data["verdict"]["because"] or ""))]
        if data["steps"]:
            parts += ["<h4>Steps</h4>", self.steps._repr_html_()]
        parts.append("<h4>Findings</h4>")
        for finding in data["findings"]:
            parts.append("<p><b>%s</b> (confidence %.2f, saves %s)<br>%s<br>%s</p>" % (
                html.escape(finding["title"]), finding["confidence"],
                html.escape(_saving(finding)), html.escape(_text(finding["where"])),
                html.escape((finding["suggestions"] or [""])[0])))
        if not data["findings"]:
            parts.append("<p>No rule found time that could be saved.</p>")
        return "\n".join(parts)


def profile(**settings):
    """Record a block of this process: `with inferscope.profile() as p:`.

    Settings as in .inferscope.yaml, for example cpu="sample" or report="r.html".
    """
    return Profile(settings)


def _headline(data):
    steps = data["steps"]
    bound = "bound by %s" % data["verdict"]["bound"]
    if not steps or steps[0]["source"] == "whole-run":
        return "%s in %s" % (bound, _ms(data["run"]["wall_ms"]))
    return "%d x %s of %s, %s" % (steps[0]["count"], steps[0]["name"], _ms(steps[0]["mean_ms"]),
                                  bound)


def _saving(finding):
    saving = finding["saving_ms"]
    return "unknown" if saving is None else "%s of a step" % _ms(saving)


def _ms(value):
    return "unknown" if value is None else "%.3g ms" % value if value < 1000 else (
        "%.3g s" % (value / 1000))


def _text(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return "%.4g" % value
    if isinstance(value, dict) and "file" in value:  # a place
        return "%s %s:%s" % (value.get("function") or "", value["file"], value.get("line") or "?")
    return str(value)
