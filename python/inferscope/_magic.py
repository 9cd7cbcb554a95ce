"""%load_ext inferscope: the magics %inferscope and %%inferscope of IPython and notebooks."""

import shlex

USAGE = ("usage: %%inferscope [--cpu MODE] [--no-gpu] [--report FILE] [--as NAME] ...: settings of "
         "`inferscope run`; --as NAME keeps the profile in a variable")


def split_options(line):
    """"--cpu sample --no-gpu --as p" -> ({"cpu": "sample", "gpu": False}, "p")"""
    words = shlex.split(line)
    settings, variable = {}, None
    while words:
        word = words.pop(0)
        if not word.startswith("--") or len(word) == 2:
            raise ValueError("%r is not an option; %s" % (word, USAGE))
        key, has_value, value = word[2:].partition("=")
        key = key.replace("-", "_")
        if key.startswith("no_"):
            settings[key[3:]] = False
        elif not has_value and (not words or words[0].startswith("--")):
            settings[key] = True
        else:
            settings[key] = value if has_value else words.pop(0)
    if "as" in settings:
        variable = settings.pop("as")
        if not (isinstance(variable, str) and variable.isidentifier()):
            raise ValueError("--as needs the name of a variable; " + USAGE)
    return settings, variable


def load(shell):
    from IPython.display import display

    from inferscope._profile import profile

    def record(settings, variable, code):
        with profile(**settings) as result:
            outcome = shell.run_cell(code)
        if variable:
            shell.user_ns[variable] = result
        if outcome.success:
            display(result)

    def cell_magic(line, cell=None):
        """Record a cell (%%inferscope [options]) or a statement (%inferscope statement)."""
        if cell is None:
            return record({}, None, line)
        settings, variable = split_options(line)
        return record(settings, variable, cell)

    shell.register_magic_function(cell_magic, magic_kind="line_cell", magic_name="inferscope")
