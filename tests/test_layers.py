"""The rules about the tree itself that docs/STYLE.md states.

Each check is a function from a file's text to a list of complaints, so that
the checks are tested as well: a rule that cannot fire protects nothing.
"""

import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A folder of src/ includes only itself and those before it.
LAYERS = ["base", "format", "agent", "capture", "import", "timeline", "analyze", "replay",
          "rules", "tables", "report", "compare", "query", "export", "cli"]
# What the agent may take from base/: it links nothing, so header-only files alone.
AGENT_BASE_HEADERS = {"base/varint.h"}

# The big folders have sub-folders, which include only themselves and those before them.
# "": the files that lie in the folder itself.
PARTS = {
    "agent": ["core", "python", "overhead", "gpu", "nvtx", "torch", "hooks"],
    "capture": ["system", "native", "sampler", "drain", "session", "doctor"],
    "import": ["build", "nsys", ""],
    "analyze": ["figures", "classes", "gpu", "memory", "steps", "cpu", "breakdown", ""],
    "rules": ["", "findings"],
    "report": ["", "viewdata", "json", "markdown", "html", "terminal"],
}
# Every sub-folder of the same folder may include these: the account that all costs are charged
# to, and the result that all parts fill in.
SHARED_HEADERS = {"agent/overhead/budget.h", "analyze/analysis.h"}
MAX_FILES = 40
MAX_README_LINES = 40
MAX_WORDS = {"README.md": 900, "docs/ARCHITECTURE.md": 2000}

MAX_LINES = 600
MAY_REPEAT = {"CMakeLists.txt", "README.md", "conftest.py", "__init__.py"}
# Data that is looked up by a name it shares with its twin elsewhere.
REPEAT_FOLDERS = ("tests/fuzz/corpus/", "tests/golden/", "docs/findings/")

# Pieced together, so that this file does not complain about itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
REGISTRY = re.compile(r"pypi\." r"org|pytho" r"nhosted|download\.pyt" r"orch|registry\.np" r"mjs"
                      r"|index-" r"url|conda\.an" r"aconda|dock" r"er\.io")
# _exit() is not among them: it is how a forked child ends whose exec failed.
PRINTS = re.compile(r"\b(printf|puts|putchar|perror|vprintf|exit|abort|err|errx|warn|warnx)"
                    r"\s*\(|\b(stdout|stderr)\b")


def tracked():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                            "--exclude-standard"], stdout=subprocess.PIPE, check=True).stdout
    return [name for name in names.decode().split("\0")
            if name and os.path.isfile(os.path.join(ROOT, name))]


def text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def code(source):
    """The C source without comments and string literals; lines stay where they are."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, source, flags=re.S)


def check_includes(name, source):
    layer = name.split("/")[1]
    complaints = []
    for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', source, re.M):
        target = included.split("/")[0]
        if "/" not in included or target == layer or target not in LAYERS:
            continue
        if LAYERS.index(target) > LAYERS.index(layer):
            complaints.append("%s includes %s, which comes after it" % (name, included))
        elif target == "agent":
            complaints.append("%s includes %s: the agent is included by none" % (name, included))
        elif layer == "agent" and target == "base" and included not in AGENT_BASE_HEADERS:
            complaints.append("%s includes %s: the agent links nothing of base/" % (name, included))
    return complaints


def part_of(path):
    """src/ left out: the folder and the sub-folder of a file."""
    folders = path.split("/")[:-1]
    return folders[0], "/".join(folders[1:])


def check_parts(name, source):
    folder, part = part_of(name[len("src/"):])
    order = PARTS.get(folder)
    if order is None:
        return []
    if part not in order:
        return ["%s: %s is no known part of %s" % (name, part, folder)]
    complaints = []
    for included in re.findall(r'^\s*#\s*include\s+"([^"]+/[^"]+)"', source, re.M):
        target, target_part = part_of(included)
        if target != folder or included in SHARED_HEADERS:
            continue
        if target_part not in order:
            complaints.append("%s includes %s, of no known part" % (name, included))
        elif order.index(target_part) > order.index(part):
            complaints.append("%s includes %s, which comes after it" % (name, included))
    return complaints


def check_folder_sizes(names):
    counts = {}
    for name in names:
        if name.startswith("src/"):
            counts[os.path.dirname(name)] = counts.get(os.path.dirname(name), 0) + 1
    return ["%s holds %d files, more than %d" % (folder, count, MAX_FILES)
            for folder, count in sorted(counts.items()) if count > MAX_FILES]


def check_headers(sources):
    """A header that one file includes belongs into that file.  sources: name -> text."""
    users = {}
    for name, source in sources.items():
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', source, re.M):
            users.setdefault("src/" + included, set()).add(name)
    return ["only %s includes %s" % (sorted(users.get(name, {"nothing"}))[0], name)
            for name in sorted(sources) if name.startswith("src/") and name.endswith(".h")
            and len(users.get(name, ())) < 2]


def check_words(name, source):
    words = len(source.split())
    return ["%s has %d words, more than %d" % (name, words, MAX_WORDS[name])] \
        if words > MAX_WORDS[name] else []


def check_length(name, source):
    lines = source.count("\n")
    top = "\n".join(source.split("\n")[:40])
    if lines <= MAX_LINES or re.search(r"\b%d lines\b|longer than" % MAX_LINES, top):
        return []
    return ["%s has %d lines: split it, or say at its top why it is longer than %d lines"
            % (name, lines, MAX_LINES)]


def check_finished(name, source):
    return ["%s:%d: %s" % (name, number, line.strip())
            for number, line in enumerate(source.split("\n"), 1) if UNFINISHED.search(line)]


def check_registries(name, source):
    return ["%s:%d names a registry: %s" % (name, number, line.strip())
            for number, line in enumerate(source.split("\n"), 1) if REGISTRY.search(line)]


def check_silent(name, source):
    return ["%s:%d prints or exits: %s" % (name, number, line.strip())
            for number, line in enumerate(code(source).split("\n"), 1) if PRINTS.search(line)]


def check_unique(names):
    seen = {}
    for name in names:
        base = os.path.basename(name)
        if base not in MAY_REPEAT and not name.startswith(REPEAT_FOLDERS):
            seen.setdefault(base, []).append(name)
    return ["the same file name twice: " + " ".join(same)
            for same in seen.values() if len(same) > 1]


def complaints_of(check, names):
    return [line for name in names for line in check(name, text(name))]


def sources():
    return [name for name in tracked() if name.endswith((".c", ".h", ".py", ".js", ".sh"))]


def stage_sources():
    return [name for name in tracked() if name.startswith("src/") and name.endswith((".c", ".h"))
            and name.count("/") >= 2]


def prose_and_sources():
    return [name for name in tracked() if name.endswith(
        (".c", ".h", ".py", ".pyi", ".js", ".sh", ".md", ".txt", ".cmake", ".yaml", ".yml", ".toml",
         ".ini", ".html", "Makefile", "/run"))]


def test_there_is_a_tree_to_check():
    assert len(stage_sources()) > 10
    assert len(prose_and_sources()) > len(stage_sources())


def test_a_stage_includes_only_the_stages_before_it():
    assert complaints_of(check_includes, stage_sources()) == []


def test_every_folder_of_src_is_a_known_stage():
    assert {name.split("/")[1] for name in stage_sources()} <= set(LAYERS)


def test_a_sub_folder_includes_only_those_before_it():
    assert complaints_of(check_parts, stage_sources()) == []


def test_no_folder_of_src_is_crowded():
    assert check_folder_sizes(tracked()) == []
    assert check_folder_sizes(["src/base/%d.c" % i for i in range(MAX_FILES + 1)]) != []


def test_every_folder_of_src_has_a_short_readme():
    names = set(tracked())
    folders = {os.path.dirname(name) for name in stage_sources()}
    folders |= {os.path.dirname(folder) for folder in folders if folder.count("/") > 1}
    readmes = {folder: folder + "/README.md" for folder in folders}
    assert {path for path in readmes.values() if path not in names} == set()
    assert [path for path in readmes.values()
            if text(path).count("\n") > MAX_README_LINES] == []


def test_a_header_serves_several_files():
    names = [name for name in tracked() if name.endswith((".c", ".h"))]
    assert check_headers({name: text(name) for name in names}) == []
    assert check_headers({"src/base/a.h": "", "src/base/a.c": '#include "base/a.h"\n'}) != []


def test_the_first_pages_are_short():
    assert complaints_of(check_words, MAX_WORDS) == []
    assert check_words("README.md", "word " * 901) != []


def test_files_are_short_or_say_why_not():
    assert complaints_of(check_length, sources()) == []


def test_file_names_are_unique():
    assert check_unique(tracked()) == []


def test_nothing_is_left_unfinished():
    assert complaints_of(check_finished, prose_and_sources()) == []


def test_no_package_registry_is_named():
    assert complaints_of(check_registries, prose_and_sources()) == []


def test_only_the_command_line_prints_or_exits():
    names = [name for name in stage_sources() if not name.startswith("src/cli/")]
    assert complaints_of(check_silent, names) == []


def test_nothing_that_is_ignored_is_tracked():
    """A tracked .venv replaces everybody's own where the branch is merged."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--ignored",
                            "--exclude-standard"], stdout=subprocess.PIPE, check=True).stdout
    assert names.decode().split() == []


@pytest.mark.parametrize("check, name, source", [
    (check_includes, "src/base/a.c", '#include "format/record.h"\n'),
    (check_includes, "src/capture/a.c", '#include "agent/core/ring.h"\n'),
    (check_includes, "src/agent/a.c", '#include "base/buf.h"\n'),
    (check_parts, "src/agent/core/a.c", '#include "agent/gpu/cupti.h"\n'),
    (check_parts, "src/analyze/gpu/a.c", '#include "analyze/trust.h"\n'),
    (check_parts, "src/agent/other/a.c", ""),
    (check_length, "src/base/a.c", "int x;\n" * (MAX_LINES + 1)),
    (check_finished, "src/base/a.c", "/* TO" "DO: later */\n"),
    (check_registries, "README.md", "see pypi" ".org\n"),
    (check_silent, "src/base/a.c", 'static void f(void)\n{\n\tfprintf(stderr, "x");\n}\n'),
    (check_silent, "src/base/a.c", "\texit(1);\n"),
])
def test_each_rule_fires(check, name, source):
    assert check(name, source) != []


@pytest.mark.parametrize("check, name, source", [
    (check_includes, "src/agent/a.c", '#include "base/varint.h"\n#include "format/shm.h"\n'),
    (check_includes, "src/cli/a.c", '#include "report/report.h"\n#include <stdio.h>\n'),
    (check_parts, "src/agent/core/a.c", '#include "agent/overhead/budget.h"\n'),
    (check_parts, "src/analyze/a.c", '#include "analyze/gpu/gpu_steps.h"\n'),
    (check_length, "src/base/a.c", "/* longer than 600 lines: a table */\n" + "int x;\n" * 700),
    (check_silent, "src/base/a.c", '/* stderr is not ours */\nn = snprintf(b, 2, "exit()");\n'),
])
def test_no_rule_fires_without_reason(check, name, source):
    assert check(name, source) == []


def test_the_same_name_twice_is_found():
    assert check_unique(["src/base/a.c", "src/cli/a.c"]) != []
    assert check_unique(["tests/cli/conftest.py", "tests/python/conftest.py"]) == []
