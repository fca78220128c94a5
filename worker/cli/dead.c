/*
 * dead.c - reading dead letters; see dead.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/dead.h"

#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/num.h"
#include "worker/cli/connect.h"

#define POLL_MS        200
#define FETCH_LIMIT_MS 15000

static bf_text_t header_text(const bf_record_t *record, const char *name)
{
    const bf_header_t *header = bf_record_header(record, name);
    if (!header || !header->value)
        return (bf_text_t){"", 0};
    return (bf_text_t){header->value, header->len};
}

void bf_dead_read(const bf_record_t *record, bf_dead_letter_t *ret)
{
    ret->code = header_text(record, "bpmflow_error_code");
    ret->error = header_text(record, "bpmflow_error");
    ret->topic = header_text(record, "bpmflow_topic");
    ret->partition = header_text(record, "bpmflow_partition");
    ret->offset = header_text(record, "bpmflow_offset");
    ret->cut = header_text(record, "bpmflow_cut");
}

bool bf_dead_is_own_header(const char *name)
{
    static const char *const own[] = {
        "bpmflow_error_code", "bpmflow_error",     "bpmflow_topic", "bpmflow_partition",
        "bpmflow_offset",     "bpmflow_timestamp", "bpmflow_cut"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return false;
}

bf_status_t bf_dead_parse_name(const char *text, bf_dead_name_t *ret, bf_err_t *err)
{
    const char *colon = strchr(text, ':');
    int64_t partition = 0;
    if (!colon ||
        bf_num_parse_range(text, (size_t)(colon - text), 0, INT32_MAX, &partition,
                           NULL) != BF_OK ||
        bf_num_parse_range(colon + 1, strlen(colon + 1), 0, INT64_MAX, &ret->offset,
                           NULL) != BF_OK)
        return bf_err_set(err, BF_E_INVALID,
                          "'%s' names no dead letter: write PARTITION:OFFSET as the list "
                          "shows it",
                          text);
    ret->partition = (int32_t)partition;
    return BF_OK;
}

bool bf_dead_is(bf_text_t text, const char *filter)
{
    return !filter ||
           (strlen(filter) == text.len && memcmp(filter, text.data, text.len) == 0);
}

static bf_status_t not_there(const char *topic, bf_dead_name_t name, bf_err_t *err)
{
    return bf_err_set(
        err, BF_E_NOT_FOUND,
        "topic %s has no record at partition %d, offset %lld: was it removed "
        "by retention?",
        topic, (int)name.partition, (long long)name.offset);
}

/* The first record that comes; anything but the wanted offset means it is not there. */
static bf_status_t fetch(bf_reader_t *reader, const char *topic, bf_dead_name_t name,
                         bf_cli_record_fn fn, void *arg, bf_err_t *err)
{
    bf_reader_range_t range = bf_reader_range(reader, name.partition);
    if (name.offset < range.low || name.offset >= range.high)
        return not_there(topic, name, err);
    int64_t deadline_ms = bf_clock_mono_ms() + FETCH_LIMIT_MS;
    while (bf_clock_mono_ms() < deadline_ms) {
        bf_record_t record;
        bf_status_t rc = bf_reader_next(reader, POLL_MS, &record, err);
        if (rc == BF_E_TIMEOUT && bf_reader_at_end(reader))
            return not_there(topic, name, err);
        if (rc == BF_E_TIMEOUT || rc == BF_E_BUS_RETRY) {
            bf_err_clear(err);
            continue;
        }
        if (rc != BF_OK)
            return rc;
        if (record.offset == name.offset)
            rc = fn(arg, &record, err);
        else
            rc = not_there(topic, name, err);
        bf_reader_release(&record);
        return rc;
    }
    return bf_err_set(err, BF_E_TIMEOUT, "topic %s gives no answer", topic);
}

bf_status_t bf_dead_fetch(const bf_cli_t *cli, const char *topic, bf_dead_name_t name,
                          bf_cli_record_fn fn, void *arg, bf_err_t *err)
{
    bf_reader_t *reader = NULL;
    bf_status_t rc =
        bf_cli_reader_at(cli, topic, name.partition, name.offset, &reader, err);
    if (rc == BF_OK)
        rc = fetch(reader, topic, name, fn, arg, err);
    bf_reader_close(reader);
    return rc;
}
