/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "machine-internal.h"
#include "machine.h"
#include "names.h"
#include "test-util.h"

/* What the tests of machine.h share: a tree for each test, and a look at one fact. */

#define DMI PATH_DMI_DIR "/"

static struct {
        char *dir;
        int fd;
} tree;

static inline void setup(void) {
        tree.dir = test_tree_new();
        tree.fd = test_tree_open(tree.dir);
}

static inline void teardown(void) {
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

/* The field's values with '|' between them; "(unknown)" if nothing is known. */
static inline void check_fact(MatchField field, const char *expected) {
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };
        _cleanup_free_ char *joined = NULL;

        ck_assert_int_eq(machine_read_facts(tree.fd, UINT32_C(1) << field, NULL, &facts), 0);
        ck_assert_int_eq(strv_join(facts.values[field], "|", &joined), 0);
        ck_assert_str_eq(facts.values[field] ? joined : "(unknown)", expected);
        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                ck_assert_msg(f == field || !facts.values[f], "%s was not asked for",
                                match_field_to_string(f));
}

static inline void write_optional(const char *path, const char *text) {
        if (text)
                test_tree_write(tree.dir, path, text);
}
