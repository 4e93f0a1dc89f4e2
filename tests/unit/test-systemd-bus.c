/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd-bus.h"

#include "mock-systemd.h"

#include <dirent.h>

/* What happens, in order: see `verbs` below for the words. Everything but the broker runs in one event loop,
 * in which the code under test may never wait. */
typedef struct Scenario {
        const char *title;
        const char *names; /* what the watch awaits */
        const char *script;
} Scenario;

static const Scenario scenarios[] = {
        { "case 16: active before the start", "graphical.target",
                        "bus; appear; set graphical.target active; probe; reached graphical.target; probed; "
                        "left" },
        { "a unit that is being reloaded, or refreshed, is up", "a.service b.service",
                        "bus; appear; set a.service reloading; set b.service refreshing; probe;"
                        "reached a.service; reached b.service; left" },
        { "gets active later; activating is not enough", "graphical.target sentinel.target",
                        "bus; appear; probe; probed; change graphical.target activating;"
                        "change sentinel.target active; reached sentinel.target; not graphical.target;"
                        "change graphical.target active; reached graphical.target; left" },
        { "activating at the start", "a.service sentinel.target",
                        "bus; appear; set a.service activating; set sentinel.target active; probe; probed;"
                        "reached sentinel.target; not a.service; change a.service active; reached "
                        "a.service" },
        { "case 20: a unit that fails is not reached", "a.service sentinel.target",
                        "bus; appear; probe; probed; change a.service activating; change a.service failed;"
                        "change sentinel.target active; reached sentinel.target; not a.service" },
        { "an alias is its unit, and keeps its name", "default.target",
                        "bus; appear; alias default.target graphical.target; probe; probed;"
                        "change graphical.target active; reached default.target; left" },
        { "all kinds of unit names",
                        "dev-disk-by\\x2dlabel-data.device getty@tty1.service -.mount a:b_c.path",
                        "bus; appear; set dev-disk-by\\x2dlabel-data.device active; set -.mount active; "
                        "probe;"
                        "probed; change getty@tty1.service active; change a:b_c.path active;"
                        "reached dev-disk-by\\x2dlabel-data.device; reached getty@tty1.service; reached "
                        "-.mount;"
                        "reached a:b_c.path; left" },
        { "a unit that is not known until a daemon-reload brings it, and a name that is no unit's",
                        "new.service name@.service",
                        "bus; appear; probe; probed; not new.service; set new.service active; reload;"
                        "reached new.service; not name@.service" },
        { "start-up was finished before", "startup-finished",
                        "bus; appear; finished; probe; reached startup-finished; probed; left" },
        { "start-up finishes later", "startup-finished a.target",
                        "bus; appear; probe; probed; not startup-finished; finish; reached startup-finished;"
                        "not a.target" },
        { "case 17: the bus comes up after the daemon", "graphical.target startup-finished",
                        "open; bus; appear; asked; change graphical.target active; finish;"
                        "reached graphical.target; reached startup-finished; left" },
        { "case 17: the socket's directory comes first, and other files in it", "graphical.target",
                        "open; touch run/a; touch run/dbus/b; touch run/dbus/c; bus; appear; asked;"
                        "change graphical.target active; reached graphical.target" },
        { "case 17: PID 1 comes to the bus after the daemon", "graphical.target",
                        "bus; probe; probed; set graphical.target active; appear; reached "
                        "graphical.target" },
        { "case 17: the bus is restarted, and the unit gets active meanwhile", "graphical.target",
                        "bus; appear; probe; probed; kill-bus; set graphical.target active; bus; appear;"
                        "reached graphical.target" },
        { "case 17: the bus is restarted, and the unit gets active later", "default.target",
                        "bus; appear; alias default.target graphical.target; probe; probed; kill-bus; bus; "
                        "appear;"
                        "asked; change graphical.target active; reached default.target; left" },
        { "case 17: the bus dies before PID 1 has answered", "graphical.target",
                        "bus; appear; hold; probe; asked; kill-bus; probed; set graphical.target active; "
                        "bus;"
                        "appear; answer; reached graphical.target" },
        { "case 17: a daemon-reload makes an alias mean another unit", "default.target sentinel.target",
                        "bus; appear; alias default.target graphical.target; probe; probed;"
                        "alias default.target multi-user.target; reload; settled;"
                        "change graphical.target active; change sentinel.target active; reached "
                        "sentinel.target;"
                        "not default.target; change multi-user.target active; reached default.target; "
                        "left" },
        { "case 17: daemon-reexec, and the unit gets active meanwhile", "graphical.target startup-finished",
                        "bus; appear; probe; probed; vanish; set graphical.target active; finished; appear;"
                        "reached graphical.target; reached startup-finished; left" },
        { "case 17: daemon-reexec, and the unit gets active later", "graphical.target startup-finished",
                        "bus; appear; probe; probed; vanish; appear; asked; change graphical.target active;"
                        "finish; reached graphical.target; reached startup-finished; left" },
        { "case 17: PID 1 leaves with the question open, and comes back", "graphical.target",
                        "bus; appear; hold; probe; asked; vanish; probed; not graphical.target;"
                        "set graphical.target active; answer; appear; reached graphical.target" },
        { "a bus without systemd", "graphical.target startup-finished",
                        "bus; probe; probed; not graphical.target; not startup-finished" },
        { "a socket that takes connections but never answers, until a bus takes its place",
                        "graphical.target",
                        "deaf-bus; probe; hang-up; probed; set graphical.target active; bus; appear;"
                        "reached graphical.target" },
        { "signals that others send in PID 1's name", "graphical.target sentinel.target",
                        "bus; appear; probe; probed; spoof graphical.target active; change sentinel.target "
                        "active;"
                        "reached sentinel.target; not graphical.target; change graphical.target active;"
                        "reached graphical.target" },
        /* setup() makes the library's timeout so short that it would have passed. */
        { "answers that take longer than the library's own timeout", "graphical.target startup-finished",
                        "bus; appear; set graphical.target active; hold; probe; asked; tick; answer;"
                        "reached graphical.target; probed; not startup-finished; tick; finish;"
                        "reached startup-finished" },
};

typedef struct World {
        char *tree;
        int root_fd;
        sd_event *event;
        pid_t bus_pid;
        int deaf_fd;
        MockSystemd pid1;
        char **names;
        BusWatch *watch;
        char **reached;
        unsigned n_probed;
        unsigned n_fds;
} World;

static World world;

static unsigned count_fds(void) {
        DIR *d = opendir("/proc/self/fd");
        unsigned n = 0;

        ck_assert_ptr_nonnull(d);
        while (readdir(d))
                n++;
        closedir(d);
        return n;
}

static void setup(void) {
        ck_assert_int_eq(setenv("SYSTEMD_BUS_TIMEOUT", "1us", true), 0);
        world = (World){ .tree = test_tree_new(), .deaf_fd = -1, .n_fds = count_fds() };
        world.root_fd = test_tree_open(world.tree);
        ck_assert_int_ge(sd_event_new(&world.event), 0);
        mock_init(&world.pid1, world.tree, world.event);
}

/* Nothing may be left open, whatever state the watch was in. */
static void teardown(void) {
        _cleanup_free_ char *activated = NULL;

        world.watch = bus_watch_free(world.watch);
        mock_done(&world.pid1);
        mock_bus_kill(&world.bus_pid);
        closep(&world.deaf_fd);
        sd_event_unref(world.event);
        close(world.root_fd);
        world.names = strv_free(world.names);
        world.reached = strv_free(world.reached);
        ck_assert_uint_eq(count_fds(), world.n_fds);

        ck_assert_int_ge(asprintf(&activated, "%s/activated", world.tree), 0);
        ck_assert_int_lt(access(activated, F_OK), 0);
        test_tree_removep(&world.tree);
}

static void on_reached(void *userdata, const char *name) {
        ck_assert_ptr_eq(userdata, &world);
        ck_assert_msg(!strv_contains(world.reached, name), "%s was reported twice", name);
        ck_assert_int_ge(strv_extend(&world.reached, name), 0);
}

static void on_probed(void *userdata) {
        ck_assert_ptr_eq(userdata, &world);
        world.n_probed++;
}

static void open_watch(bool expect_probing) {
        static const BusWatchHandlers handlers = { .reached = on_reached, .probed = on_probed };
        bool probing = !expect_probing;

        ck_assert_int_ge(bus_watch_open(world.root_fd, world.event, world.names, &handlers, &world, &probing,
                                         &world.watch),
                        0);
        ck_assert(probing == expect_probing);
        ck_assert_uint_eq(world.n_probed, 0);
        ck_assert_ptr_null(world.reached);
}

static void do_bus(const char *a, const char *b) {
        world.bus_pid = mock_bus_start(world.tree);
}

static void do_kill_bus(const char *a, const char *b) {
        mock_bus_kill(&world.bus_pid);
        mock_vanish(&world.pid1);
}

static void do_deaf_bus(const char *a, const char *b) {
        world.deaf_fd = mock_bus_listen(world.tree);
}

static void do_hang_up(const char *a, const char *b) {
        closep(&world.deaf_fd);
        world.deaf_fd = -1;
}

static void do_appear(const char *a, const char *b) {
        mock_appear(&world.pid1);
}

static void do_vanish(const char *a, const char *b) {
        mock_vanish(&world.pid1);
}

static void do_set(const char *a, const char *b) {
        mock_set_unit(&world.pid1, a, a, b);
}

static void do_alias(const char *a, const char *b) {
        mock_set_unit(&world.pid1, a, b, "inactive");
}

static void do_change(const char *a, const char *b) {
        ck_assert(world.pid1.subscribed);
        mock_change_unit(&world.pid1, a, b);
}

static void do_finish(const char *a, const char *b) {
        mock_finish_startup(&world.pid1);
}

static void do_finished(const char *a, const char *b) {
        world.pid1.finish_usec = 1;
}

static void do_reload(const char *a, const char *b) {
        world.pid1.n_calls = 0;
        mock_reload(&world.pid1);
}

static void do_hold(const char *a, const char *b) {
        world.pid1.holding = true;
}

static void do_answer(const char *a, const char *b) {
        mock_answer_held(&world.pid1);
}

/* To all, and to the watch alone, which no match rule keeps out. */
static void do_spoof(const char *a, const char *b) {
        sd_bus *bus = mock_bus_connect(world.tree);

        mock_send_unit_signal(bus, NULL, a, b);
        mock_send_unit_signal(bus, world.pid1.client, a, b);
        ck_assert_int_ge(sd_bus_flush(bus), 0);
        sd_bus_close_unref(bus);
}

static void do_touch(const char *a, const char *b) {
        test_tree_write(world.tree, a, "");
        ck_assert_int_ge(sd_event_run(world.event, 0), 0);
}

static void do_tick(const char *a, const char *b) {
        for (usec_t until = fs_now() + 2 * USEC_PER_MSEC; fs_now() < until;)
                ck_assert_int_ge(sd_event_run(world.event, USEC_PER_MSEC), 0);
}

static void do_open(const char *a, const char *b) {
        open_watch(false);
}

static void do_probe(const char *a, const char *b) {
        open_watch(true);
}

static void do_probed(const char *a, const char *b) {
        RUN_UNTIL(world.event, world.n_probed > 0);
}

/* PID 1 was asked: put aside or answered. */
static void do_asked(const char *a, const char *b) {
        RUN_UNTIL(world.event, world.pid1.subscribed || world.pid1.n_held > strv_length(world.names));
}

/* The watch asked again, for each unit what it is called and how it is, and was answered. */
static void do_settled(const char *a, const char *b) {
        RUN_UNTIL(world.event, world.pid1.n_calls >= 1 + 2 * strv_length(world.names));
}

static void do_reached(const char *a, const char *b) {
        RUN_UNTIL(world.event, strv_contains(world.reached, a));
}

static void do_not(const char *a, const char *b) {
        ck_assert_msg(!strv_contains(world.reached, a), "%s was reached", a);
}

static void do_left(const char *a, const char *b) {
        sd_bus *bus = mock_bus_connect(world.tree);
        sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        /* The broker may need a moment to notice. */
        for (usec_t until = fs_now() + PATIENCE;;) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
                int there;

                r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                "org.freedesktop.DBus", "NameHasOwner", &error, &reply, "s",
                                world.pid1.client);
                ck_assert_int_ge(r, 0);
                ck_assert_int_ge(sd_bus_message_read(reply, "b", &there), 0);
                if (!there)
                        break;
                ck_assert_msg(fs_now() < until, "the watch keeps its connection");
        }
        sd_bus_close_unref(bus);
}

static const struct {
        const char *word;
        void (*act)(const char *a, const char *b);
} verbs[] = {
        { "bus", do_bus },           /* the message bus starts */
        { "kill-bus", do_kill_bus }, /* and dies */
        { "deaf-bus", do_deaf_bus }, /* something else listens on its socket */
        { "hang-up", do_hang_up },   /* and goes away */
        { "appear", do_appear },     /* PID 1 comes to the bus */
        { "vanish", do_vanish },     /* and leaves it */
        { "set", do_set },           /* UNIT STATE: from now on PID 1 answers so */
        { "alias", do_alias },       /* NAME UNIT: from now on NAME means UNIT */
        { "change", do_change },     /* UNIT STATE, with signals */
        { "finish", do_finish },     /* start-up finishes, with a signal */
        { "finished", do_finished }, /* start-up finished while nobody looked */
        { "reload", do_reload },     /* daemon-reload */
        { "hold", do_hold },         /* PID 1 is busy: no answers */
        { "answer", do_answer },     /* it catches up */
        { "spoof", do_spoof },       /* UNIT STATE: somebody else sends the signals */
        { "touch", do_touch },       /* FILE appears */
        { "tick", do_tick },         /* some time passes */
        { "open", do_open },         /* the watch is opened, and there is nothing to probe */
        { "probe", do_probe },       /* the watch is opened, and probes */
        { "probed", do_probed },     /* wait until it has */
        { "asked", do_asked },       /* wait until PID 1 has been asked */
        { "settled", do_settled },   /* wait until it has been asked once more, and has answered */
        { "reached", do_reached },   /* NAME: wait until it is */
        { "not", do_not },           /* NAME: it is not */
        { "left", do_left },         /* wait until the watch has left the bus */
};

static void perform(const char *step) {
        char word[16] = "", a[64] = "", b[64] = "";

        if (sscanf(step, "%15s %63s %63s", word, a, b) < 1)
                return;
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].word, word)) {
                        verbs[i].act(a, b);
                        return;
                }
        ck_abort_msg("no such verb: %s", word);
}

/* The first max steps of it; returns whether there are more. */
static bool play(const Scenario *s, unsigned max) {
        _cleanup_free_ char *names = strdup(s->names), *script = strdup(s->script);
        char *rest = script, *step, *name;

        for (char *p = names; (name = strsep(&p, " "));)
                ck_assert_int_ge(strv_extend(&world.names, name), 0);
        while ((step = strsep(&rest, ";"))) {
                if (max-- == 0)
                        return true;
                perform(step);
        }
        return false;
}

START_TEST(test_scenario) {
        (void) play(&scenarios[_i], UINT32_MAX);
        ck_assert_uint_le(world.n_probed, 1);
}
END_TEST

/* Whatever the watch was doing: nothing of it stays, and no callback comes after. */
START_TEST(test_free_at_every_step) {
        for (unsigned n = 0;; n++) {
                bool more = play(&scenarios[_i], n);

                teardown();
                setup();
                if (!more)
                        break;
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("systemd-bus");
        TCase *tc = tcase_create("scenarios");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_loop_test(tc, test_scenario, 0, ELEMENTSOF(scenarios));
        tcase_add_loop_test(tc, test_free_at_every_step, 0, ELEMENTSOF(scenarios));
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
