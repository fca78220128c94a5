/*
 * verify_topics.c - verify: events and replies
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/num.h"
#include "worker/cli/connect.h"
#include "worker/cli/verify.h"

#define POLL_MS 100

int32_t bf_verify_seq(const char *event, size_t len)
{
    /* The first hit is the member: quotes inside of texts are escaped. */
    static const char name[] = ",\"seq\":";
    if (!event || len == 0 || event[0] != '{')
        return 0;
    const char *at = memmem(event, len, name, sizeof name - 1);
    if (!at)
        return 0;
    at += sizeof name - 1;
    size_t digits = 0;
    while (at + digits < event + len && at[digits] >= '0' && at[digits] <= '9')
        digits++;
    int64_t seq = 0;
    if (digits == 0 || bf_num_parse_range(at, digits, 1, INT32_MAX, &seq, NULL) != BF_OK)
        return 0;
    return (int32_t)seq;
}

static int64_t total_of(const bf_reader_t *reader)
{
    int64_t total = 0;
    for (int32_t p = 0; p < bf_reader_partition_count(reader); p++) {
        bf_reader_range_t range = bf_reader_range(reader, p);
        total += range.high - range.low;
    }
    return total;
}

bool bf_verify_is_trimmed(const bf_reader_t *reader)
{
    for (int32_t p = 0; p < bf_reader_partition_count(reader); p++)
        if (bf_reader_range(reader, p).low > 0)
            return true;
    return false;
}

bf_status_t bf_verify_run_pass(bf_verify_pass_t *pass, bf_err_t *err)
{
    int64_t total = total_of(pass->reader);
    int64_t quiet_since_ms = 0; /* monotonic; of the late part */
    bf_status_t rc = BF_OK;
    while (rc == BF_OK) {
        if (bf_cli_stopped())
            return bf_err_set(err, BF_E_CANCELLED, "interrupted");
        int64_t now = bf_clock_mono_ms();
        if (!pass->late && bf_reader_at_end(pass->reader)) {
            pass->late = true;
            quiet_since_ms = now;
        }
        if (pass->late &&
            (pass->open <= 0 || now - quiet_since_ms >= pass->verify->settle_ms))
            break;
        bf_record_t record;
        rc = bf_reader_next(pass->reader, POLL_MS, &record, err);
        if (rc == BF_E_TIMEOUT || rc == BF_E_BUS_RETRY) {
            bf_err_clear(err);
            rc = BF_OK;
            continue;
        }
        if (rc != BF_OK)
            break;
        int64_t open = pass->open;
        rc = pass->take(pass, &record, err);
        bf_reader_release(&record);
        if (pass->open < open)
            quiet_since_ms = bf_clock_mono_ms();
        if (++*pass->count % 1000 == 0)
            bf_cli_progress("%s: %lld of %lld", pass->what, (long long)*pass->count,
                            (long long)total);
    }
    return rc;
}

/* --- events --- */

static void foreign(bf_verify_t *verify, const bf_record_t *record)
{
    bf_verify_found(
        verify, BF_FINDING_EVENT_FOREIGN, NULL, 0,
        "partition %d, offset %lld of the event topic is no event: key '%.*s', "
        "value '%.*s'",
        (int)record->partition, (long long)record->offset,
        (int)(record->key_len < 64 ? record->key_len : 64),
        record->key ? record->key : "",
        (int)(record->value_len < 80 ? record->value_len : 80),
        record->value ? record->value : "");
}

static void take_order(bf_verify_pass_t *pass, bf_verify_instance_t *inst, int32_t seq,
                       int32_t partition)
{
    if (inst->partition < 0 && seq > 1 &&
        bf_reader_range(pass->reader, partition).low > 0) {
        inst->first_event = seq; /* what came before may be gone */
        inst->events = seq - 1;
        pass->open -= seq - 1 < inst->rows ? seq - 1 : inst->rows;
    }
    if (seq != inst->events + 1) {
        inst->odd = true;
        return;
    }
    inst->events = seq;
    pass->open -= seq <= inst->rows;
}

/* Could a purge have taken the instance whose last step this is? */
static bool is_purgeable(const bf_verify_t *verify, const bf_record_t *record)
{
    bf_arena_t arena;
    bf_value_t event;
    int64_t time_ms = 0;
    bf_arena_init(&arena, 0);
    bool result = false;
    if (bf_json_parse(&arena, record->value, record->value_len, NULL, &event, NULL) ==
            BF_OK &&
        event.type == BF_VALUE_MAP) {
        const char *state = bf_value_get_cstr(&event, "instance_state");
        const char *time = bf_value_get_cstr(&event, "create_time");
        result = state && time &&
                 strcmp(state, bf_instance_status_name(BF_INSTANCE_RUNNING)) != 0 &&
                 bf_clock_parse(time, &time_ms, NULL) == BF_OK &&
                 time_ms < verify->purges.before_wall_ms;
    }
    bf_arena_fini(&arena);
    return result;
}

/* An event of an instance that has no rows, where there were purges: what counts is the
 * last one, and that they are complete. */
static void take_purged(bf_verify_pass_t *pass, const bf_record_t *record,
                        bf_verify_instance_t *inst, int32_t seq)
{
    if (inst->events == 0 && seq > 1 &&
        bf_reader_range(pass->reader, record->partition).low > 0)
        inst->events = seq - 1; /* what came before may be gone */
    inst->odd = inst->odd || seq != inst->events + 1 ||
                (inst->partition >= 0 && inst->partition != record->partition);
    inst->events = seq;
    inst->partition = record->partition;
    inst->too_new = !is_purgeable(pass->verify, record);
}

static bf_status_t take_event(bf_verify_pass_t *pass, const bf_record_t *record,
                              bf_err_t *err)
{
    bf_verify_t *verify = pass->verify;
    int32_t seq = bf_verify_seq(record->value, record->value_len);
    if (seq == 0 || record->key_len == 0 || record->key_len > BF_ID_MAX_BYTES) {
        if (!pass->late)
            foreign(verify, record);
        return BF_OK;
    }
    bf_verify_instance_t *inst = bf_verify_instance(verify, record->key, record->key_len);
    if (!inst)
        return bf_err_nomem(err, "instances");
    if (inst->rows == 0 && !pass->late && verify->purges.runs > 0) {
        take_purged(pass, record, inst, seq);
        return BF_OK;
    }
    if (seq > inst->rows) {
        /* Up to the end that was taken first every event must have its row. */
        inst->odd = inst->odd || !pass->late;
        return BF_OK;
    }
    take_order(pass, inst, seq, record->partition);
    if (inst->partition >= 0 && inst->partition != record->partition && !inst->spread) {
        inst->spread = true;
        bf_verify_found(
            verify, BF_FINDING_EVENT_PARTITION, NULL, seq,
            "events of instance %.*s stand in partitions %d and %d: their order "
            "is lost",
            (int)record->key_len, record->key, (int)inst->partition,
            (int)record->partition);
    }
    inst->partition = record->partition;
    inst->event_digest =
        bf_verify_digest(inst->event_digest, record->value, record->value_len);
    return BF_OK;
}

/* Instances whose digests or numbers differ are odd. */
static void compare(bf_verify_t *verify, const bf_reader_t *reader)
{
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    while (bf_map_next(verify->instances, &cursor, &id, &len, &value)) {
        bf_verify_instance_t *inst = value;
        if (inst->rows == 0 && inst->events > 0) { /* only where there were purges */
            inst->odd = inst->odd || inst->too_new;
            verify->purged_instances += !inst->odd;
            continue;
        }
        if (inst->partition < 0 && inst->rows > 0 && verify->events_trimmed) {
            int32_t p = (int32_t)((bf_murmur2(id, len) & 0x7fffffffu) %
                                  (unsigned)bf_reader_partition_count(reader));
            if (bf_reader_range(reader, p).low > 0)
                continue; /* all of them may be gone */
        }
        if (inst->events != inst->rows || inst->event_digest != inst->row_digest)
            inst->odd = true;
    }
}

bf_status_t bf_verify_events(bf_verify_t *verify, bf_reader_t *reader, bf_err_t *err)
{
    verify->events_trimmed = bf_verify_is_trimmed(reader);
    bf_verify_pass_t pass = {.verify = verify,
                             .reader = reader,
                             .what = "events",
                             .count = &verify->event_count,
                             .open = verify->row_count,
                             .take = take_event};
    bf_status_t rc = bf_verify_run_pass(&pass, err);
    if (rc == BF_OK && verify->events_trimmed)
        rc = bf_verify_history_again(verify, err);
    if (rc == BF_OK)
        compare(verify, reader);
    return rc;
}

/* --- replies --- */

static uint64_t hash_of(const bf_record_t *record)
{
    return bf_verify_reply_hash(record->topic, record->key ? record->key : "",
                                record->key_len, record->value ? record->value : "",
                                record->value_len);
}

/* A reply from before the last purge, of an instance of which nothing is left but
 * commands that came afterwards. */
static bool is_of_purged(const bf_verify_t *verify, const bf_record_t *record)
{
    const bf_verify_instance_t *inst =
        bf_map_get(verify->instances, record->key ? record->key : "", record->key_len);
    return verify->purges.runs > 0 && (!inst || inst->rows == 0 || !inst->has_commands) &&
           record->timestamp_ms <= verify->purges.last_wall_ms;
}

static bf_status_t take_reply(bf_verify_pass_t *pass, const bf_record_t *record,
                              bf_err_t *err)
{
    bf_verify_t *verify = pass->verify;
    uint64_t hash = hash_of(record);
    if (bf_tally_get(&verify->replies, hash) > 0) {
        pass->open--;
        return bf_tally_add(&verify->replies, hash, -1) ? BF_OK
                                                        : bf_err_nomem(err, "replies");
    }
    if (pass->late)
        return BF_OK; /* of a command that was applied meanwhile */
    if (is_of_purged(verify, record)) {
        verify->purged_replies++;
        return BF_OK;
    }
    if (verify->early_replies && bf_tally_knows(&verify->replies, hash))
        return BF_OK; /* the same bytes once more */
    bf_verify_found(verify, BF_FINDING_REPLY_WITHOUT_COMMAND, NULL, 0,
                    "partition %d, offset %lld of topic %s: a reply that no command "
                    "accounts for, or one too many: %.*s",
                    (int)record->partition, (long long)record->offset, record->topic,
                    (int)(record->value_len < 200 ? record->value_len : 200),
                    record->value ? record->value : "");
    return BF_OK;
}

static bf_status_t read_replies(bf_verify_t *verify, bf_reader_t *reader, int64_t *open,
                                bf_err_t *err)
{
    verify->replies_trimmed = verify->replies_trimmed || bf_verify_is_trimmed(reader);
    bf_verify_pass_t pass = {.verify = verify,
                             .reader = reader,
                             .what = "replies",
                             .count = &verify->reply_count,
                             .open = *open,
                             .take = take_reply};
    bf_status_t rc = bf_verify_run_pass(&pass, err);
    *open = pass.open;
    return rc;
}

/* Names the commands whose replies did not come: one more pass over the outcomes. */
static bf_status_t name_missing(void *arg, const bf_command_row_t *command, bf_err_t *err)
{
    (void)err;
    bf_verify_t *verify = arg;
    uint64_t hash = bf_verify_reply_of(command);
    if (hash == 0 || bf_tally_get(&verify->replies, hash) <= 0)
        return BF_OK;
    (void)bf_tally_add(&verify->replies, hash, -1); /* there is a slot: it cannot fail */
    int32_t p = command->partition_no;
    bool pending = verify->published[p] <= command->offset;
    bf_verify_found(verify, BF_FINDING_REPLY_MISSING, command->instance_id,
                    command->first_seq,
                    "the reply to command %s (partition %d, offset %lld) is not in topic "
                    "%s%s",
                    command->command_id ? command->command_id : "(repeated)", (int)p,
                    (long long)command->offset, command->reply_topic,
                    pending ? ": applied, not published yet; a worker does it when it "
                              "takes the partition"
                            : "");
    return BF_OK;
}

/* A topic that somebody chose by reply_to. */
static bf_status_t read_other(bf_verify_t *verify, const char *topic, int64_t *open,
                              bf_err_t *err)
{
    bf_reader_t *reader = NULL;
    bf_status_t rc = bf_cli_reader(verify->cli, topic, BF_READER_BEGINNING, &reader, err);
    if (rc == BF_OK)
        rc = read_replies(verify, reader, open, err);
    bf_reader_close(reader);
    return rc;
}

bf_status_t bf_verify_replies(bf_verify_t *verify, bf_reader_t *reader, bf_err_t *err)
{
    const char *common = bf_cli_text(verify->cli, "reply-topic");
    int64_t none = 0;
    int64_t *open = bf_map_get_str(verify->reply_topics, common);
    bf_status_t rc =
        reader ? read_replies(verify, reader, open ? open : &none, err) : BF_OK;
    int64_t missing = 0;
    size_t cursor = 0;
    const char *topic;
    size_t len;
    void *value;
    while (rc == BF_OK &&
           bf_map_next(verify->reply_topics, &cursor, &topic, &len, &value)) {
        if (strcmp(topic, common) != 0)
            rc = read_other(verify, topic, value, err);
        missing += *(const int64_t *)value;
    }
    if (rc == BF_OK && missing > 0 && !verify->replies_trimmed)
        rc = bf_verify_each_command(verify, name_missing, verify, err);
    return rc;
}
