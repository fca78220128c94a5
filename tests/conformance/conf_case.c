/*
 * conf_case.c - one case: decision, mismatches, line of the report, draft
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf.h"

#define FILE_MAX_BYTES ((size_t)8 << 20)

bool conf_read_file(conf_t *conf, const char *path, const char **ret, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        return false;
    }
    struct stat st;
    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        (size_t)st.st_size > FILE_MAX_BYTES) {
        (void)fclose(f);
        return false;
    }
    size_t room = (size_t)st.st_size + 1;
    char *text = bf_arena_alloc(&conf->arena, room);
    if (!text) {
        conf_die_nomem();
    }
    size_t len = fread(text, 1, room, f);
    len = len < room ? len : room - 1;
    bool ok = !ferror(f) && feof(f);
    (void)fclose(f);
    text[len] = '\0';
    *ret = text;
    *ret_len = len;
    return ok;
}

/* Names become file names: letters, digits, '_', '-' and '.' stay. */
static char *file_name_of(conf_t *conf, const char *name)
{
    char *copy = conf_text(conf, "%s", name);
    for (char *p = copy; *p; p++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
                    *p)) {
            *p = '_';
        }
    }
    return copy;
}

static const bf_value_t *read_json(conf_t *conf, const char *path)
{
    const char *text;
    size_t len;
    if (!conf_read_file(conf, path, &text, &len)) {
        return NULL;
    }
    bf_value_t *value = bf_arena_calloc(&conf->arena, 1, sizeof(*value));
    if (!value) {
        conf_die_nomem();
    }
    bf_json_limits_t limits = {.max_bytes = FILE_MAX_BYTES};
    bf_err_t err = BF_ERR_INIT;
    if (bf_json_parse(&conf->arena, text, len, &limits, value, &err) != BF_OK) {
        (void)fprintf(stderr, "%s: %s\n", path, err.text);
        exit(2);
    }
    return value;
}

static const bf_value_t *find_decision(conf_t *conf, const char *format, const char *name)
{
    if (!conf->decisions) {
        return NULL;
    }
    const bf_value_t *one =
        read_json(conf, conf_text(conf, "%s/%s/%s.json", conf->decisions, format,
                                  file_name_of(conf, name)));
    if (one) {
        return one;
    }
    const bf_value_t *all =
        read_json(conf, conf_text(conf, "%s/%s.json", conf->decisions, format));
    return bf_value_get_str(all, name);
}

bool conf_case_begin(conf_t *conf, conf_case_t *c, const char *format, const char *name,
                     const bf_value_t *scenario)
{
    if (conf->filter && !strstr(name, conf->filter)) {
        return false;
    }
    *c = (conf_case_t){.conf = conf, .format = format, .name = name};
    bf_str_init(&c->mismatches, 0);
    c->surprising = bf_value_get_str(scenario, "surprising");
    c->decision = find_decision(conf, format, name);
    if (c->decision && !bf_value_get_cstr(c->decision, "why")) {
        conf_fail(c, "the decision file has no \"why\"; add the sentence");
    }
    return true;
}

const bf_value_t *conf_expect(const conf_case_t *c, const bf_value_t *scenario)
{
    const bf_value_t *decided = bf_value_get_str(c->decision, "expect");
    return decided ? decided : bf_value_get_str(scenario, "expect");
}

void conf_fail(conf_case_t *c, const char *fmt, ...)
{
    char text[4096];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (c->mismatch_count++) {
        bf_str_puts(&c->mismatches, "\n     ");
    }
    bf_str_puts(&c->mismatches, text);
}

void conf_skip(conf_case_t *c, const char *reason)
{
    c->skipped = reason;
}

void conf_came(conf_case_t *c, const bf_value_t *came)
{
    c->came = came;
}

/* A draft: what came, and the places for what a person has to add. */
static void write_draft(conf_case_t *c)
{
    conf_t *conf = c->conf;
    const char *folder = conf_text(conf, "%s/%s", conf->drafts, c->format);
    (void)mkdir(conf->drafts, 0777);
    (void)mkdir(folder, 0777);
    const char *path = conf_text(conf, "%s/%s.json", folder, file_name_of(conf, c->name));
    conf_map_t draft;
    conf_map_init(conf, &draft);
    bf_value_t name = conf_string(conf, c->name);
    bf_value_t why = conf_string(conf, "");
    conf_map_put(&draft, "name", &name);
    if (c->surprising) {
        conf_map_put(&draft, "original", c->surprising);
    }
    conf_map_put(&draft, "why", &why);
    for (uint32_t i = 0; i < c->came->len; i++) {
        conf_map_put(&draft, c->came->as.members[i].name, &c->came->as.members[i].value);
    }
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_json_write_pretty(&text, conf_map_value(&draft));
    bf_str_putc(&text, '\n');
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bf_str_peek(&text), 1, text.len, f) != text.len || fclose(f)) {
        (void)fprintf(stderr, "%s: cannot be written\n", path);
        exit(2);
    }
    bf_str_fini(&text);
}

static void print_failure(const conf_case_t *c)
{
    if (c->conf->is_quiet) {
        return;
    }
    if (c->mismatch_count) {
        (void)printf("FAIL %s: %s\n", c->name, bf_str_peek(&c->mismatches));
    } else {
        (void)printf(
            "FAIL %s: marked surprising (%s), comes as in the original, and there "
            "is no decision file\n",
            c->name, conf_json(c->conf, c->surprising));
    }
}

void conf_case_end(conf_case_t *c)
{
    conf_t *conf = c->conf;
    bool failed = c->mismatch_count || (c->surprising && !c->decision);
    if (c->skipped) {
        conf->skipped++;
        if (!conf->is_quiet) {
            (void)printf("SKIPPED %s: %s\n", c->name, c->skipped);
        }
    } else if (failed) {
        conf->failed++;
        print_failure(c);
        if (conf->drafts && c->came) {
            write_draft(c);
        }
    } else {
        conf->passed++;
        conf->decided += c->decision ? 1 : 0;
        if (!conf->is_quiet) {
            (void)printf("%s %s\n", c->decision ? "DECIDED" : "PASS", c->name);
        }
    }
    bf_str_fini(&c->mismatches);
}

void conf_check_members(conf_case_t *c, const char *where, const bf_value_t *map,
                        const char *const *known)
{
    if (map && map->type != BF_VALUE_MAP) {
        conf_fail(c, "%s: is a %s, expected an object", where,
                  bf_value_type_name(map->type));
    }
    for (uint32_t i = 0; map && i < conf_members(map); i++) {
        const char *const *k = known;
        while (*k && strcmp(*k, map->as.members[i].name) != 0) {
            k++;
        }
        if (!*k) {
            conf_fail(c, "%s: unknown member \"%s\"", where, map->as.members[i].name);
        }
    }
}
