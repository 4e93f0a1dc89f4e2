# SPDX-License-Identifier: LGPL-2.1-or-later
"""The heart is pure: what it asks of libc is neither I/O, nor a clock, nor logging; and nobody asks for a wall clock."""

import subprocess

from conftest import BUILD

# Of libc, the heart may use what works on memory alone.
ALLOWED = {
    "malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "asprintf", "vasprintf", "snprintf",
    "memchr", "memcmp", "bcmp", "memcpy", "memmove", "memset", "memrchr", "rawmemchr", "mempcpy", "strchr", "strchrnul", "strrchr",
    "strcmp", "strncmp", "strcasecmp", "strlen", "strnlen", "strcpy", "stpcpy", "strpbrk", "strspn", "strcspn", "strstr",
    "strtol", "strtoul", "strtoull", "strtoll", "fnmatch", "qsort", "bsearch", "abort", "__ctype_b_loc",
    "open_memstream", "fclose", "fprintf", "fputs", "fputc", "fwrite", "putc",  # into memory
    "__errno_location", "__isoc23_strtoll", "__isoc23_strtol", "__isoc23_strtoull", "__assert_fail", "__popcountdi2", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_", "isoc99_sscanf",
    "ini_parse_stream", "ini_parse_string",
}
WALL_CLOCK = {"time", "gettimeofday", "localtime", "localtime_r", "gmtime", "gmtime_r", "ftime", "clock_settime"}


def undefined(archive):
    text = subprocess.run(["nm", "-A", BUILD / archive], capture_output=True, text=True, check=True).stdout
    defined, wanted = set(), {}
    for line in text.splitlines():
        where, _, rest = line.rpartition(":")
        words = rest.split()
        if words[-2] == "U":
            wanted.setdefault(words[-1].removeprefix("__").removesuffix("_chk") if words[-1].endswith("_chk") else words[-1],
                              where.split(":")[-1])
        else:
            defined.add(words[-1])
    return {symbol: where for symbol, where in wanted.items() if symbol not in defined}


def instrumented(symbol):
    """What sanitizers and gcov add."""
    return symbol.startswith(("__asan_", "__ubsan_", "__gcov_", "__odr_asan", "__sanitizer_")) or symbol == "__tls_get_addr"


def test_the_heart_is_pure():
    found = {symbol: where for symbol, where in undefined("libheart.a").items()
             if symbol not in ALLOWED and not instrumented(symbol)}
    assert not found


def test_case_32_no_wall_clock():
    for archive in ("libheart.a", "libio.a"):
        assert not WALL_CLOCK & set(undefined(archive)), archive


def test_libudev_is_loaded_only_where_a_policy_needs_it():
    text = subprocess.run(["objdump", "-p", BUILD / "rcu-bootd"], capture_output=True, text=True, check=True).stdout
    needed = [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["NEEDED"]]
    assert any(name.startswith("libsystemd.so") for name in needed)
    assert not any(name.startswith("libudev.so") for name in needed)
