/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mock-systemd.h"

#include "names.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define UNIT_PATH SYSTEMD_PATH "/unit"
#define MANAGER SYSTEMD ".Manager"
#define UNIT SYSTEMD ".Unit"
#define PROPERTIES "org.freedesktop.DBus.Properties"

static void write_config(const char *tree) {
        _cleanup_free_ char *config = NULL, *service = NULL;

        ck_assert_int_ge(asprintf(&config,
                                         "<busconfig>\n"
                                         "  <type>custom</type>\n"
                                         "  <listen>unix:path=%s/" PATH_SYSTEM_BUS "</listen>\n"
                                         "  <auth>EXTERNAL</auth>\n"
                                         "  <servicedir>%s/services</servicedir>\n"
                                         "  <policy context=\"default\">\n"
                                         "    <allow send_destination=\"*\" eavesdrop=\"true\"/>\n"
                                         "    <allow eavesdrop=\"true\"/>\n"
                                         "    <allow own=\"*\"/>\n"
                                         "  </policy>\n"
                                         "</busconfig>\n",
                                         tree, tree),
                        0);
        test_tree_write(tree, "bus.conf", config);
        test_tree_write(tree, "run/dbus/.keep", "");

        ck_assert_int_ge(asprintf(&service,
                                         "[D-BUS Service]\nName=" SYSTEMD "\nExec=/bin/touch %s/activated\n",
                                         tree),
                        0);
        test_tree_write(tree, "services/" SYSTEMD ".service", service);
}

pid_t mock_bus_start(const char *tree) {
        _cleanup_free_ char *option = NULL;
        char address[512];
        int pipe_fds[2];
        pid_t pid;

        write_config(tree);
        ck_assert_int_ge(asprintf(&option, "--config-file=%s/bus.conf", tree), 0);
        ck_assert_int_ge(pipe2(pipe_fds, O_CLOEXEC), 0);

        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (dup2(pipe_fds[1], STDOUT_FILENO) < 0)
                        _exit(EXIT_FAILURE);
                execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", "--print-address=1",
                                NULL);
                perror("dbus-daemon");
                _exit(EXIT_FAILURE);
        }

        close(pipe_fds[1]);
        /* The address comes when it listens; nothing at all comes if it cannot. */
        ck_assert_msg(read(pipe_fds[0], address, sizeof(address)) > 0, "dbus-daemon does not start");
        close(pipe_fds[0]);
        return pid;
}

void mock_bus_kill(pid_t *pid) {
        if (*pid <= 0)
                return;
        ck_assert_int_eq(kill(*pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(*pid, NULL, 0), *pid);
        *pid = 0;
}

int mock_bus_listen(const char *tree) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        test_tree_write(tree, "run/dbus/.keep", "");
        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" PATH_SYSTEM_BUS, tree);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        ck_assert_int_eq(listen(fd, 8), 0);
        return fd;
}

static sd_bus *connect_to(const char *address) {
        sd_bus *bus;

        ck_assert_int_ge(sd_bus_new(&bus), 0);
        ck_assert_int_ge(sd_bus_set_address(bus, address), 0);
        ck_assert_int_ge(sd_bus_set_bus_client(bus, true), 0);
        ck_assert_int_ge(sd_bus_set_method_call_timeout(bus, USEC_INFINITY), 0);
        ck_assert_int_ge(sd_bus_start(bus), 0);
        return bus;
}

sd_bus *mock_bus_connect(const char *tree) {
        _cleanup_free_ char *address = NULL;

        ck_assert_int_ge(asprintf(&address, "unix:path=%s/" PATH_SYSTEM_BUS, tree), 0);
        return connect_to(address);
}

void mock_init(MockSystemd *m, const char *tree, sd_event *event) {
        *m = (MockSystemd){ .event = sd_event_ref(event) };
        ck_assert_int_ge(asprintf(&m->address, "unix:path=%s/" PATH_SYSTEM_BUS, tree), 0);
}

static const MockUnit *find_unit(const MockSystemd *m, const char *name) {
        for (size_t i = 0; i < m->n_units; i++)
                if (streq(m->units[i].name, name))
                        return &m->units[i];
        for (size_t i = 0; i < m->n_units; i++)
                if (streq(m->units[i].id, name))
                        return &m->units[i];

        return NULL;
}

static int reply_string(sd_bus_message *call, const char *s) {
        return sd_bus_reply_method_return(call, "v", "s", s);
}

/* PID 1 makes an object for any name that a unit could have, and calls it inactive if there is no such unit;
 * it knows no object for a name that is none. */
static int answer_unit(MockSystemd *m, sd_bus_message *call, const char *property) {
        _cleanup_free_ char *name = NULL;
        const MockUnit *u;

        if (sd_bus_path_decode(sd_bus_message_get_path(call), UNIT_PATH, &name) <= 0 || strstr(name, "@."))
                return sd_bus_reply_method_errorf(
                                call, SD_BUS_ERROR_UNKNOWN_OBJECT, "Unknown object '%s'.", strempty(name));

        u = find_unit(m, name);
        if (streq(property, "Id"))
                return reply_string(call, u ? u->id : name);
        ck_assert_str_eq(property, "ActiveState");
        return reply_string(call, u ? u->state : "inactive");
}

static int answer_get(MockSystemd *m, sd_bus_message *call) {
        const char *interface, *property;

        ck_assert_int_gt(sd_bus_message_read(call, "ss", &interface, &property), 0);
        if (streq(interface, UNIT))
                return answer_unit(m, call, property);

        ck_assert_str_eq(interface, MANAGER);
        ck_assert_str_eq(property, "FinishTimestampMonotonic");
        return sd_bus_reply_method_return(call, "v", "t", m->finish_usec);
}

static int answer_list_jobs(MockSystemd *m, sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        ck_assert_int_ge(sd_bus_message_new_method_return(call, &reply), 0);
        ck_assert_int_ge(sd_bus_message_open_container(reply, 'a', "(usssoo)"), 0);
        for (size_t i = 0; i < m->n_jobs; i++)
                ck_assert_int_ge(sd_bus_message_append(reply, "(usssoo)", m->jobs[i].id, m->jobs[i].unit,
                                                 m->jobs[i].type, m->jobs[i].state, SYSTEMD_PATH "/job/1",
                                                 UNIT_PATH "/x"),
                                0);
        ck_assert_int_ge(sd_bus_message_close_container(reply), 0);
        return sd_bus_send(NULL, reply, NULL);
}

static int answer(MockSystemd *m, sd_bus_message *call) {
        if (sd_bus_message_is_method_call(call, PROPERTIES, "Get"))
                return answer_get(m, call);
        if (sd_bus_message_is_method_call(call, MANAGER, "ListJobs"))
                return answer_list_jobs(m, call);
        if (sd_bus_message_is_method_call(call, MANAGER, "Subscribe")) {
                m->subscribed = true;
                (void) snprintf(m->client, sizeof(m->client), "%s", sd_bus_message_get_sender(call));
                return sd_bus_reply_method_return(call, NULL);
        }

        ck_abort_msg("PID 1 was asked something unforeseen: %s", sd_bus_message_get_member(call));
}

static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        MockSystemd *m = userdata;

        m->n_calls++;
        if (m->holding) {
                ck_assert_uint_lt(m->n_held, MOCK_UNITS_MAX);
                m->held[m->n_held++] = sd_bus_message_ref(call);
        } else
                ck_assert_int_ge(answer(m, call), 0);
        return 1;
}

void mock_answer_held(MockSystemd *m) {
        m->holding = false;
        for (size_t i = 0; i < m->n_held; i++) {
                ck_assert_int_ge(answer(m, m->held[i]), 0);
                sd_bus_message_unref(m->held[i]);
        }
        m->n_held = 0;
}

void mock_appear(MockSystemd *m) {
        ck_assert_ptr_null(m->bus);
        m->bus = connect_to(m->address);
        ck_assert_int_ge(sd_bus_attach_event(m->bus, m->event, SD_EVENT_PRIORITY_NORMAL), 0);
        ck_assert_int_ge(sd_bus_add_fallback(m->bus, NULL, SYSTEMD_PATH, on_call, m), 0);
        ck_assert_int_ge(sd_bus_request_name(m->bus, SYSTEMD, 0), 0);
}

void mock_vanish(MockSystemd *m) {
        for (size_t i = 0; i < m->n_held; i++)
                sd_bus_message_unref(m->held[i]);
        m->n_held = 0;
        m->subscribed = false;
        m->bus = sd_bus_flush_close_unref(m->bus);
}

void mock_done(MockSystemd *m) {
        mock_vanish(m);
        sd_event_unref(m->event);
        free(m->address);
}

void mock_set_unit(MockSystemd *m, const char *name, const char *id, const char *state) {
        MockUnit *u = (MockUnit *) find_unit(m, name);

        if (!u || !streq(u->name, name)) {
                ck_assert_uint_lt(m->n_units, MOCK_UNITS_MAX);
                u = &m->units[m->n_units++];
        }
        (void) snprintf(u->name, sizeof(u->name), "%s", name);
        (void) snprintf(u->id, sizeof(u->id), "%s", id);
        (void) snprintf(u->state, sizeof(u->state), "%s", state);
}

/* Of each change PID 1 sends two signals: what is peculiar to the kind of unit, and what all units have. */
void mock_send_unit_signal(sd_bus *bus, const char *destination, const char *id, const char *state) {
        static const char *const interfaces[] = { SYSTEMD ".Target", UNIT };
        _cleanup_free_ char *path = NULL;

        ck_assert_int_ge(sd_bus_path_encode(UNIT_PATH, id, &path), 0);
        for (size_t i = 0; i < ELEMENTSOF(interfaces); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *s = NULL;

                ck_assert_int_ge(sd_bus_message_new_signal(bus, &s, path, PROPERTIES, "PropertiesChanged"),
                                0);
                ck_assert_int_ge(sd_bus_message_append(s, "s", interfaces[i]), 0);
                if (i == 0)
                        ck_assert_int_ge(sd_bus_message_append(s, "a{sv}as", 0, 0), 0);
                else
                        ck_assert_int_ge(sd_bus_message_append(s, "a{sv}as", 4, "StateChangeTimestamp", "t",
                                                         UINT64_C(1), "Job", "(uo)", 1U, "/", "ActiveState",
                                                         "s", state, "SubState", "s", "x", 1, "Conditions"),
                                        0);
                ck_assert_int_ge(sd_bus_send_to(bus, s, destination, NULL), 0);
        }
}

void mock_change_unit(MockSystemd *m, const char *id, const char *state) {
        mock_set_unit(m, id, id, state);
        if (m->subscribed)
                mock_send_unit_signal(m->bus, NULL, id, state);
}

void mock_finish_startup(MockSystemd *m) {
        m->finish_usec = 12345678;
        if (m->subscribed)
                ck_assert_int_ge(sd_bus_emit_signal(m->bus, SYSTEMD_PATH, MANAGER, "StartupFinished",
                                                 "tttttt", UINT64_C(0), UINT64_C(0), UINT64_C(1),
                                                 UINT64_C(0), UINT64_C(2), UINT64_C(3)),
                                0);
}

void mock_reload(MockSystemd *m) {
        for (int begins = 1; m->subscribed && begins >= 0; begins--)
                ck_assert_int_ge(sd_bus_emit_signal(m->bus, SYSTEMD_PATH, MANAGER, "Reloading", "b", begins),
                                0);
}
