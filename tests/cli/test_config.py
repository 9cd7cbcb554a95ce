"""Where settings come from, and what is said about files that are wrong."""

import os
import subprocess

import pytest


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def shown(done):
    """{key: (value, origin)} of `config show --origin`; unset settings are None."""
    assert done.returncode == 0, done.stderr
    settings = {}
    for line in done.stdout.splitlines():
        if line.startswith("# configuration: "):
            continue
        unset = line.startswith("# ")
        key, rest = (line[2:] if unset else line).split(":", 1)
        value, origin = rest.rsplit(" # ", 1)
        settings[key] = (None if unset else value.strip(), origin)
    return settings


def test_defaults(inferscope):
    settings = shown(inferscope("config", "show", "--origin"))
    assert {origin for _, origin in settings.values()} == {"default"}
    assert settings["report"][0] == "[inferscope-report.md]"
    assert settings["trace"][0] == "inferscope-trace.isc"
    assert settings["cpu"][0] == "auto"
    assert settings["gpu"][0] == "true"
    assert settings["max_overhead"][0] == "5"
    assert settings["sample_hz"][0] == "1000"
    assert settings["trace_size_mb"][0] == "100"
    assert settings["log_level"][0] == "warn"
    assert settings["python"][0] is None


def test_every_setting_has_a_variable_that_sets_it(inferscope):
    other = {"gpu": "false", "nvtx": "false", "memory": "false", "enable": "false",
             "cpu": "trace", "detail": "full", "log_level": "error", "report": "[x.md]",
             "fail_on": "[high]", "source": "false", "graph_nodes": '"off"', "max_memory": "512M"}
    numbers = {"max_overhead", "sample_hz", "trace_size_mb", "delay", "duration", "timeline_mb"}
    for key, (value, _) in shown(inferscope("config", "show", "--origin")).items():
        wanted = other.get(key, "7" if key in numbers else "true" if value == "false" else "word")
        name = "INFERSCOPE_" + key.upper()
        done = inferscope("config", "show", "--origin", env={name: wanted.strip('[]"')})
        assert shown(done)[key] == (wanted, name)


def test_environment_beats_file(inferscope, work):
    path = write(work / ".inferscope.yaml", "cpu: trace\nsample_hz: 50\n")
    settings = shown(inferscope("config", "show", "--origin", env={"INFERSCOPE_CPU": "off"}))
    assert settings["cpu"] == ('"off"', "INFERSCOPE_CPU")
    assert settings["sample_hz"] == ("50", "%s:2" % path)


def test_an_empty_variable_is_an_unset_one(inferscope):
    settings = shown(inferscope("config", "show", "--origin", env={"INFERSCOPE_CPU": ""}))
    assert settings["cpu"] == ("auto", "default")


def test_shown_settings_are_a_file_that_gives_the_same(inferscope, work):
    show = ("config", "show", "--config", "c.yaml")
    write(work / "c.yaml",
          "report: [a.md, 'b: c#.json', \"-\"]\ntrace: off\ncpu: off\ndelay: 0.25\nrules: \"on\"\n"
          "python: 'tab\\t\"quoted\"'\nduration: 3\nfail_on: []\n")
    first = inferscope(*show)
    assert first.returncode == 0, first.stderr
    write(work / "c.yaml", first.stdout)
    assert inferscope(*show).stdout == first.stdout
    # the comments that name the origin do no harm either
    with_origin = inferscope(*show, "--origin").stdout
    assert with_origin.startswith("# configuration: c.yaml\n")
    write(work / "c.yaml", with_origin)
    assert inferscope(*show).stdout == first.stdout


def test_the_nearest_file_upwards_counts(inferscope, work):
    write(work / ".inferscope.yaml", "duration: 1\n")
    write(work / "a" / ".inferscope.yaml", "duration: 2\n")
    deep = work / "a" / "b" / "c"
    deep.mkdir(parents=True)
    settings = shown(inferscope("config", "show", "--origin", cwd=deep))
    assert settings["duration"] == ("2", "%s/a/.inferscope.yaml:1" % work)


def test_the_users_own_file_comes_before_the_defaults(inferscope, work, tmp_path):
    home = write(tmp_path / "home/.config/inferscope/config.yaml", "duration: 1\npython: p\n")
    xdg = write(tmp_path / "xdg/inferscope/config.yaml", "duration: 2\n")
    show = ("config", "show", "--origin")
    settings = shown(inferscope(*show))
    assert settings["duration"] == ("1", "%s:1" % home)
    assert settings["python"] == ("p", "%s:2" % home)
    env = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert shown(inferscope(*show, env=env))["duration"] == ("2", "%s:1" % xdg)
    env = {"XDG_CONFIG_HOME": "xdg"}  # relative: the specification says to ignore it
    assert shown(inferscope(*show, env=env, cwd=tmp_path))["duration"] == ("1", "%s:1" % home)


@pytest.mark.parametrize("name, args", [(".inferscope.yaml", ()),
                                        ("other.yaml", ("--config", "other.yaml"))])
def test_a_file_of_the_project_comes_before_the_users_own(inferscope, work, tmp_path, name, args):
    home = write(tmp_path / "home/.config/inferscope/config.yaml",
                 "duration: 1\nfail_on: [high]\nring: true\n")
    path = write(work / name, "duration: 2\nfail_on: [medium]\n")
    done = inferscope("config", "show", "--origin", *args)
    settings = shown(done)
    assert settings["duration"][0] == "2"
    assert settings["fail_on"][0] == "[medium]"  # replaced, not added to
    assert settings["ring"] == ("true", "%s:3" % home)
    used = args[1] if args else str(path)
    assert done.stdout.splitlines()[:2] == ["# configuration: " + used,
                                            "# configuration: %s" % home]


TRUSTED = {"python": "./evil", "report": "[x.md]", "trace": "x.isc", "rules": "x.yaml",
           "keep_secrets": "true"}


@pytest.mark.parametrize("key", sorted(TRUSTED))
def test_a_found_file_names_no_programs_and_no_paths(refused, inferscope, work, tmp_path, key):
    text = "# a comment\n%s: %s\n" % (key, TRUSTED[key])
    path = write(work / ".inferscope.yaml", text)
    for command in (("config", "show"), ("doctor",), ("run", "s.py"), ("analyze", "t.isc"),
                    ("export", "t.isc"), ("rules", "list")):
        assert refused(*command) == \
            "%s:2: %s: not allowed in an automatically found file; remove the line, or name the " \
            "file with --config if you trust it" % (path, key)
    show = ("config", "show", "--origin")
    value = TRUSTED[key].replace("./evil", '"./evil"')
    assert shown(inferscope(*show, "--config", path))[key] == (value, "%s:2" % path)
    env = {"INFERSCOPE_CONFIG": str(path)}
    assert shown(inferscope(*show, env=env))[key] == (value, "%s:2" % path)
    path.unlink()
    own = write(tmp_path / "home/.config/inferscope/config.yaml", text)
    assert shown(inferscope(*show))[key] == (value, "%s:2" % own)


def test_a_program_of_a_cloned_repository_is_not_run(inferscope, work):
    evil = write(work / "evil", "#!/bin/sh\ntouch ran\n")
    evil.chmod(0o755)
    write(work / ".inferscope.yaml", "python: ./evil\n")
    assert inferscope("doctor").returncode == 2
    assert not (work / "ran").exists()
    inferscope("doctor", "--config", ".inferscope.yaml")  # asked for
    assert (work / "ran").exists()


def test_commands_name_the_files_they_use(inferscope, golden, work, tmp_path):
    trace = golden("decoder")
    commands = (("analyze", trace), ("export", trace, "-o", "e.json"), ("rules", "list"),
                ("doctor", "--python", "/nope"), ("run", "--", "true"))
    for command in commands:
        assert "configuration" not in inferscope(*command).stderr
    found = write(work / ".inferscope.yaml", "detail: short\n")
    rules = write(work / ".inferscope_rules.yaml", "bottleneck_rules: []\n")
    own = write(tmp_path / "home/.config/inferscope/config.yaml", "ring: true\n")
    for command in commands:
        lines = inferscope(*command).stderr.splitlines()
        said = "inferscope: configuration: %s, %s" % (found, own)
        if command[0] in ("analyze", "rules", "run"):
            said += "; rules from %s" % rules
        assert lines[0] == said
        for variable, value in (("QUIET", "1"), ("LOG_LEVEL", "error")):
            assert "configuration" not in \
                inferscope(*command, env={"INFERSCOPE_" + variable: value}).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name, what", [("config.yaml", "configuration"), ("rules.yaml", "rules")])
def test_the_users_own_file_is_the_users(refused, inferscope, tmp_path, name, what):
    path = write(tmp_path / "home/.config/inferscope" / name, "\n")
    os.chown(str(path), 65534, 65534)
    assert refused("rules", "list") == \
        "the %s file '%s' belongs to another user; make it yours, or set XDG_CONFIG_HOME to a " \
        "folder of your own" % (what, path)
    assert inferscope("config", "show",
                      env={"XDG_CONFIG_HOME": str(tmp_path)}).returncode == 0


def test_the_users_own_file_is_not_for_everyone_to_write(refused, tmp_path):
    path = write(tmp_path / "home/.config/inferscope/config.yaml", "\n")
    path.chmod(0o666)
    assert refused("config", "show") == \
        "the configuration file '%s' can be written by every user; run chmod o-w on it" % path


def test_a_named_file_replaces_the_search(inferscope, work):
    write(work / ".inferscope.yaml", "duration: 1\n")
    write(work / "other.yaml", "sample_hz: 9\n")
    for args, env in ((["--config", "other.yaml"], {}), (["--config=other.yaml"], {}),
                      ([], {"INFERSCOPE_CONFIG": "other.yaml"})):
        settings = shown(inferscope("config", "show", "--origin", *args, env=env))
        assert settings["sample_hz"] == ("9", "other.yaml:1")
        assert settings["duration"] == (None, "default")


def test_a_named_file_may_be_a_pipe(inferscope, work):
    read, end = os.pipe()
    os.write(end, b"duration: 4\n")
    os.close(end)
    done = inferscope("config", "show", "--origin", "--config", "/dev/stdin", stdin=read)
    os.close(read)
    assert shown(done)["duration"] == ("4", "/dev/stdin:1")


def test_a_removed_working_directory_does_no_harm(binary, inferscope, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", 'cd "$1" && rmdir "$1" && exec "$2" config show', "sh",
                           str(gone), binary], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.parametrize("text, complaint", [
    ("rnig: true\n", ":1: unknown key 'rnig'; did you mean 'ring'?"),
    ("# comment\n\nring: true\nring: true\n", ":4: ring: duplicate key, first on line 3"),
    ("ring: 2\n", ":1: ring: expected true or false, not '2'"),
    ("sample_hz: fast\n", ":1: sample_hz: expected an integer from 1 to 10000, not 'fast'"),
    ("trace_size_mb: 100000\n",
     ":1: trace_size_mb: expected an integer from 1 to 65536, not '100000'"),
    ("ring: true\ncpu: {mode: off}\n", ":2: cpu: expected a value, not a mapping"),
    ("cpu: [off]\n", ":1: cpu: expected one value, not a list"),
    ("ring: true\n\tcpu: off\n", ":2: ring: tabs cannot indent in YAML; use spaces"),
    ("ring: true\n cpu: off\n", ":1: ring: expected true or false, not 'true cpu'"),
    (b"ring: \xff\xfe\n", ":1: not UTF-8 text: invalid leading UTF-8 octet"),
    ("ring: true\n".encode("utf-16"), ":1: not UTF-8 text: invalid leading UTF-8 octet"),
    (b"\x7fELF\x02\x01\x01\x00\x00", ":1: not UTF-8 text: control characters are not allowed"),
])
def test_a_wrong_file_is_named_with_line_and_key(refused, work, text, complaint):
    path = write(work / ".inferscope.yaml", text)
    assert refused("config", "show").startswith(str(path) + complaint)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "{}\n"])
def test_a_file_that_says_nothing_is_fine(inferscope, work, text):
    plain = inferscope("config", "show").stdout
    write(work / ".inferscope.yaml", text)
    assert inferscope("config", "show").stdout == plain


def test_a_wrong_variable_is_named(refused):
    assert refused("config", "show", env={"INFERSCOPE_TRACE_SIZE_MB": "lots"}) == \
        "INFERSCOPE_TRACE_SIZE_MB: expected an integer from 1 to 65536, not 'lots'"


def test_a_mistake_counts_even_where_it_is_overridden(refused, work):
    path = write(work / ".inferscope.yaml", "cpu: fast\n")
    assert refused("config", "show", env={"INFERSCOPE_CPU": "off"}) == \
        "%s:1: cpu: expected auto|trace|sample|off, not 'fast'" % path


def test_a_missing_file(refused):
    assert refused("config", "show", "--config", "nope.yaml") == \
        "cannot read the configuration file 'nope.yaml': No such file or directory"


def test_a_directory(refused, work):
    (work / ".inferscope.yaml").mkdir()
    path = work / ".inferscope.yaml"
    assert refused("config", "show") == "the configuration file '%s' is a directory" % path
    assert refused("config", "show", "--config", path) == \
        "cannot read the configuration file '%s': Is a directory" % path


def test_a_fifo_in_the_way_does_not_hang(refused, work):
    os.mkfifo(str(work / ".inferscope.yaml"))
    assert refused("config", "show", timeout=60).endswith("is not a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file(refused, work):
    path = write(work / ".inferscope.yaml", "ring: true\n")
    path.chmod(0)
    assert refused("config", "show") == \
        "cannot read the configuration file '%s': Permission denied" % path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_another_user_left_above_is_not_obeyed(refused, inferscope, work, tmp_path):
    path = write(tmp_path / ".inferscope.yaml", "duration: 1\n")
    os.chown(str(path), 65534, 65534)
    assert refused("config", "show").startswith(
        "the configuration file '%s' belongs to another user" % path)
    show = ("config", "show", "--origin")
    assert shown(inferscope(*show, "--config", path))["duration"] == ("1", "%s:1" % path)
    assert shown(inferscope(*show, "--config", "/dev/null"))["duration"] == (None, "default")
    os.chown(str(work), 65534, 65534)  # a project that is mounted into a container
    assert shown(inferscope(*show))["duration"] == ("1", "%s:1" % path)


def test_a_file_that_cannot_be_read_to_its_end(refused):
    assert refused("config", "show", "--config", "/proc/self/mem") == \
        "cannot read the configuration file '/proc/self/mem': Input/output error"


def test_a_huge_file(refused, inferscope, work):
    path = write(work / ".inferscope.yaml", b"#" * (1 << 20))
    assert inferscope("config", "show").returncode == 0
    with path.open("ab") as file:
        file.write(b"\n")
    assert refused("config", "show") == "the configuration file '%s' is larger than 1 MB" % path
    assert refused("config", "show", "--config", "/dev/zero") == \
        "the configuration file '/dev/zero' is larger than 1 MB"
