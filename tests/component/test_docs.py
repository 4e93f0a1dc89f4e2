# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the manual pages, the catalog and the completion say against what the code says. A name is taken from where the code
has it, so that one that is added or renamed there fails here until it is described."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["RCU_BOOTD_BUILDDIR"])
SOURCE = pathlib.Path(os.environ["RCU_BOOTD_SRCDIR"])

DAEMON_PAGE = SOURCE / "man/rcu-bootd.8"
CTL_PAGE = SOURCE / "man/rcu-bootctl.1"
POLICY_PAGE = SOURCE / "man/rcu-boot-policy.5"
PAGES = (DAEMON_PAGE, CTL_PAGE, POLICY_PAGE)
CATALOG = SOURCE / "catalog/rcu-bootd.catalog"
COMPLETION = SOURCE / "completions/rcu-bootctl"
POLICIES = sorted((SOURCE / "conf/policy.d").glob("*.policy"))


# --- the pages ---

def render(page):
    """As a reader sees it, on the longest lines that there are; words that are broken at a hyphen even so are joined."""
    text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=1000", str(page)],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    return re.sub(r"(?<=\w)-\n +(?=\w)", "-", re.sub(".\b", "", text).replace("\N{HYPHEN}", "-"))


RENDERED = {page: render(page) for page in PAGES}


def section(page, title):
    match = re.search(r"^%s\n(.*?)(?=^\S|\Z)" % re.escape(title), RENDERED[page], re.M | re.S)
    assert match, "%s has no section %s" % (page.name, title)
    return match.group(1)


def missing(names, text):
    """Those names that are not in the text as words of their own."""
    assert names
    return [name for name in names if not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(name), text)]


# --- the code ---

def source(path):
    return (SOURCE / "src" / path).read_text()


def defines(prefix):
    return dict(re.findall(r'^#define (%s\w+) "([^"]+)"' % prefix, source("names.h"), re.M))


def table(path, name):
    """The strings of a table of names, `static const char *const NAME[...] = { [X] = "x", ... };`."""
    match = re.search(r"\b%s\[[^]]*\] = \{(.*?)\n\};" % name, source(path), re.S)
    assert match, "%s has no table %s" % (path, name)
    found = re.findall(r'\] = \{? ?"([^"]+)"', match.group(1))
    assert found
    return found


def run(program, *args, codes=(0,)):
    result = subprocess.run([str(BUILD / program), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False, env={**os.environ, "SYSTEMD_COLORS": "0"})
    assert result.returncode in codes, result.stderr
    return result.stdout


def options(program):
    """-f, --follow, --root=DIR -> -f, --follow, --root."""
    text = run(program, "--help")
    found = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)(?==|\s|,)", text)
    assert "--help" in found and "--root" in found
    return sorted(set(found))


def verbs():
    """The first column of the commands in --help, "policy show [NAME]" without its arguments."""
    text = run("rcu-bootctl", "--help")
    commands = re.search(r"Commands:\n(.*?)\n\n", text, re.S).group(1)
    found = [re.match(r"((?: [a-z-]+)+)(?=  | [A-Z\[])", line[1:]).group(1).strip() for line in commands.splitlines()]
    assert "status" in found and "policy check" in found
    return found


@pytest.fixture
def root(tmp_path):
    """A tree with nothing in it."""
    for directory in ("sys", "proc", "run", "etc"):
        (tmp_path / directory).mkdir()
    return tmp_path


# --- what is missing where ---

def test_finds_what_is_missing():
    """The tests below can fail."""
    assert missing(["DeadlineSec", "NoSuchKeySec"], RENDERED[POLICY_PAGE]) == ["NoSuchKeySec"]
    assert missing(["present"], "represented present_usec") == ["present"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lint(page):
    result = subprocess.run(["mandoc", "-Tlint", str(page)], stdout=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_policy_keys():
    assert not missing(table("policy-keys.c", "section_names"), RENDERED[POLICY_PAGE])
    assert not missing(table("policy-keys.c", "boot_key_names"), section(POLICY_PAGE, "[BOOT]"))
    assert not missing(table("match.c", "field_names"), section(POLICY_PAGE, "[MATCH]"))


def test_policy_keys_are_in_the_code():
    """And the other way round: no key is described that is gone."""
    known = table("policy-keys.c", "boot_key_names") + table("match.c", "field_names")
    described = re.findall(r"^ {7}([A-Z]\w+)=", section(POLICY_PAGE, "[BOOT]") + section(POLICY_PAGE, "[MATCH]"), re.M)
    assert sorted(described) == sorted(known)


def knobs(root):
    return json.loads(run("rcu-bootctl", "--root=%s" % root, "knobs", "--json"))["knobs"]


def test_knobs(root):
    text = section(POLICY_PAGE, "[DURING] AND [AFTER]")
    for knob in knobs(root):
        entry = re.search(r"^ {7}%s\n(.*?)(?=^ {0,7}\S|\Z)" % knob["name"], text, re.M | re.S)
        assert entry, "%s is not described" % knob["name"]
        assert not missing(knob["paths"], entry.group(1))
        assert "Source" in entry.group(1)
        for where, bounds in (("[During]", knob["during_range"]), ("[After]", knob["after_range"])):
            values = re.search(r"%s +(.*)" % re.escape(where), entry.group(1)).group(1)
            numbers = [int(n) for n in re.findall(r"(?<![\w=])\d+", re.sub(r"\(.*?\)", "", values))]
            assert numbers == sorted(set(bounds or [])), "%s in %s" % (knob["name"], where)


def test_knob_words():
    words = re.findall(r'\{ "(\w+)", KNOB_ACTION_\w+ \}', source("knob.c"))
    assert not missing(words, section(POLICY_PAGE, "[DURING] AND [AFTER]"))


def test_installed_policies():
    text = RENDERED[POLICY_PAGE]
    assert not missing([path.name for path in POLICIES], text)
    classes = re.findall(r"^Class=(\S+)", "".join(path.read_text() for path in POLICIES), re.M)
    assert len(classes) == len(POLICIES) - 1
    assert not missing(classes, section(POLICY_PAGE, "[MATCH]"))


def test_daemon_options():
    assert not missing(options("rcu-bootd"), section(DAEMON_PAGE, "OPTIONS"))


def test_ctl_options():
    assert not missing(options("rcu-bootctl"), section(CTL_PAGE, "OPTIONS"))


def test_verbs():
    assert not missing(verbs(), section(CTL_PAGE, "COMMANDS"))


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*(keys_of(v) for v in value.values()))
    if isinstance(value, list):
        return set().union(*(keys_of(v) for v in value))
    return set()


STATE = """\
VERSION=1
PHASE=ended
REASON=milestones
REASON_TEXT=
SINCE_USEC=2000000
STARTED_USEC=1000000
STARTS=1
DEATHS=0
NOT_BEFORE_USEC=0
DEADLINE_USEC=60000000
EXTENDED=0
MODE=default
POLICY=50-laptop.policy
POLICY_FILE=/usr/lib/rcu-bootd/policy.d/50-laptop.policy
POLICY_WHY=its [Match] holds
ALLOW_USERS=
END_WHEN_1=graphical.target
REACHED_1=2000000 bus graphical.target
%sCOMPLETE=1
"""


def test_json_keys(root):
    """With a state that has all parts, so that no key is left out."""
    knob_lines = "".join("KNOB_%s=present:0 default:0\n" % knob["name"] for knob in knobs(root))
    (root / "run/rcu-bootd").mkdir()
    (root / "run/rcu-bootd/state").write_text(STATE % knob_lines)
    (root / "sys/kernel").mkdir()
    (root / "sys/kernel/rcu_boot_ended").write_text("0\n")
    status = json.loads(run("rcu-bootctl", "--root=%s" % root, "status", "--json", codes=(0, 1)))
    assert status["kernel"] and status["policy"] and status["milestones"] and status["knobs"]
    found = keys_of(status) | keys_of(knobs(root))
    assert not missing(sorted(found), section(CTL_PAGE, "JSON OUTPUT"))


def test_note_ids():
    """What `status --json` has in notes[].id."""
    text = source("ctl/ctl-status.c") + source("ctl/ctl-status-kernel.c")
    found = re.findall(r'\bstatus_add\(s, [^";]*?"([a-z-]+)"(?: : "([a-z-]+)")?', text)
    ids = sorted({name for pair in found for name in pair if name})
    assert {"drift", "not-started", "after-failed", "during-failed", "kernel-goes-on", "unkept-promise"} <= set(ids)
    assert not missing(ids, section(CTL_PAGE, "JSON OUTPUT"))


def test_state_file():
    code = source("state.c")
    text = section(DAEMON_PAGE, "STATE FILE")
    keys = re.findall(r'^\s*\{ "([A-Z_]+)", read_\w+ \}', code, re.M)
    assert {"PHASE", "DEADLINE_USEC"} <= set(keys)
    assert not missing(keys + ["COMPLETE"], text)
    for prefix in re.findall(r'startswith\(key, "([A-Z_]+_)"\)', code):
        assert prefix in text
    assert not missing(table("state.c", "stage_table"), text)
    assert not missing(sorted(set(re.findall(r'streq\(field, "(\w+)"\)', code)) - {"asked", "errno", "read"}), text)
    for stage in table("state.c", "stage_table"):
        assert not missing(["%s_%s" % (stage, what) for what in ("asked", "errno", "read")], text)


def test_phases_and_reasons():
    text = section(DAEMON_PAGE, "PHASES AND REASONS")
    assert not missing([phase for phase in table("boot-record.c", "phase_table") if phase != "none"], text)
    assert not missing([reason for reason in table("boot-record.c", "reason_table") if reason != "none"], text)


def test_sources():
    assert not missing(table("milestone.c", "source_names"), section(DAEMON_PAGE, "MILESTONES"))


def test_modes():
    assert not missing(table("knob.c", "mode_names"), section(DAEMON_PAGE, "STATE FILE"))


def test_kernel_view():
    """Its nodes, and the words for them that `status` prints."""
    text = section(DAEMON_PAGE, "THE KERNEL'S OWN END")
    module, promise = defines("KERNEL_")["KERNEL_MODULE"], defines("KERNEL_")["KERNEL_PROMISE"]
    assert not missing(["/" + path for name, path in defines("PATH_KERNEL_ENDED").items()], text)
    assert not missing(["/sys/module/%s/parameters/%s" % (where, promise) for where in ("kernel", module)], text)
    assert not missing(table("kernel-view.c", "cause_table"), text)
    words = table("kernel-view.c", "cause_table") + table("kernel-view.c", "verdict_table")
    assert not missing([word for word in words if word != "none"], section(CTL_PAGE, "JSON OUTPUT"))


def test_inbox():
    text = section(DAEMON_PAGE, "INBOX")
    assert not missing([name for name in defines("INBOX_").values()], text)


def test_journal():
    text = section(DAEMON_PAGE, "JOURNAL")
    assert not missing(list(defines("FIELD_").values()), text)
    assert not missing(list(defines("MESSAGE_ID_").values()), text)
    assert sorted(re.findall(r"^ {7}([0-9a-f]{32})$", text, re.M)) == sorted(defines("MESSAGE_ID_").values())


def test_run_time_files():
    names = defines("PATH_")
    files = ["/" + names["PATH_CLASS"]]
    # Composed of PATH_RUN_DIR and a string.
    files += ["/%s%s" % (names["PATH_RUN_DIR"], rest)
              for rest in re.findall(r'^#define PATH_\w+ PATH_RUN_DIR "([^"]+)"', source("names.h"), re.M)]
    files += ["/" + names[name] for name in names if name.startswith("PATH_POLICY_DIR")]
    assert len(files) == 8
    text = section(DAEMON_PAGE, "FILES").replace("/,", ",").replace("/\n", "\n")
    assert not missing(files, text)


def test_catalog():
    """Every id is explained, and nothing else is."""
    ids = re.findall(r"^-- ([0-9a-f]{32})$", CATALOG.read_text(), re.M)
    assert sorted(ids) == sorted(defines("MESSAGE_ID_").values())


def test_catalog_fields():
    """What the texts have put in is a field that there is."""
    fields = set(re.findall(r"@([A-Z_]+)@", CATALOG.read_text()))
    own = {field for field in fields if field.startswith("RCU_BOOT")}
    assert own <= set(defines("FIELD_").values())


def complete(*line):
    """What bash offers for the last word."""
    script = r"""
        _init_completion() {
            cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        }
        . "$1"
        shift
        function=$(complete -p rcu-bootctl | sed 's/.*-F \([^ ]*\).*/\1/')
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "$function" rcu-bootctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    """
    result = subprocess.run(["bash", "-c", script, "bash", str(COMPLETION), *line],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert result.stderr == ""
    return [word.strip().rstrip("=") for word in result.stdout.splitlines()]


def test_completion_knows_verbs():
    offered = complete("rcu-bootctl", "")
    assert {verb.split()[0] for verb in verbs()} <= set(offered)
    assert {verb.split()[1] for verb in verbs() if " " in verb} <= set(complete("rcu-bootctl", "policy", ""))


def test_completion_knows_options():
    offered = set()
    for verb in verbs():
        offered |= set(complete("rcu-bootctl", *verb.split(), "--"))
    offered |= set(complete("rcu-bootctl", "--"))
    assert {option for option in options("rcu-bootctl") if option.startswith("--")} <= offered


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_policy_is_valid(path, root):
    """What `rcu-bootctl policy check` calls an error is one; what it warns of depends on the system."""
    run("rcu-bootctl", "--root=%s" % root, "policy", "check", str(path))


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_policy_does_not_wait_for_all(path):
    """case 19: a long job that a timer started would hold up startup-finished."""
    assert not re.search(r"^EndWhen=.*startup-finished", path.read_text(), re.M)


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_policy_lines_are_short(path):
    """inih cuts lines after 200 bytes; ours are read by people, too."""
    assert max(len(line.encode()) for line in path.read_text().splitlines()) <= 120


def test_examples_in_the_page_are_valid(root):
    """Every whole policy that rcu-boot-policy(5) gives as an example."""
    examples = re.findall(r"^\.EX\n(\[Match\].*?)^\.EE", POLICY_PAGE.read_text(), re.M | re.S)
    assert examples
    for i, text in enumerate(examples):
        path = root / ("%02d-example.policy" % i)
        path.write_text(text.replace("\\-", "-").replace("\\e", "\\"))
        run("rcu-bootctl", "--root=%s" % root, "policy", "check", str(path))


def test_version():
    version = re.search(r"(\d+\.\d+\.\d+)", run("rcu-bootd", "--version")).group(1)
    for page in PAGES:
        assert '"rcu-bootd %s"' % version in page.read_text()
