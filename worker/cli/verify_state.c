/*
 * verify_state.c - what verify collects, and its findings
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"
#include "worker/cli/table.h"
#include "worker/cli/verify.h"

bf_verify_instance_t *bf_verify_instance(bf_verify_t *verify, const char *id, size_t len)
{
    bf_verify_instance_t *inst = bf_map_get(verify->instances, id, len);
    if (inst)
        return inst;
    inst = bf_arena_calloc(&verify->arena, 1, sizeof *inst);
    if (!inst || bf_map_put(verify->instances, id, len, inst, NULL) != BF_OK)
        return NULL;
    inst->first_event = 1;
    inst->partition = -1;
    return inst;
}

uint64_t bf_verify_digest(uint64_t digest, const void *event, size_t len)
{
    uint64_t mixed = (digest ^ bf_hash_bytes(event, len)) * 0x9e3779b97f4a7c15u;
    return mixed ^ (mixed >> 29);
}

uint64_t bf_verify_reply_hash(const char *topic, const char *key, size_t key_len,
                              const char *reply, size_t len)
{
    uint64_t hash = bf_verify_digest(bf_hash_bytes(topic, strlen(topic)), key, key_len);
    hash = bf_verify_digest(hash, reply, len);
    return hash ? hash : 1;
}

static struct bf_tally_slot *find_slot(const bf_tally_t *tally, uint64_t hash)
{
    size_t at = (size_t)hash & (tally->size - 1);
    while (tally->slots[at].hash && tally->slots[at].hash != hash)
        at = (at + 1) & (tally->size - 1);
    return &tally->slots[at];
}

static bool grow(bf_tally_t *tally)
{
    bf_tally_t bigger = {.size = tally->size ? tally->size * 2 : 1024};
    bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < tally->size; i++) {
        if (!tally->slots[i].hash || !tally->slots[i].count)
            continue; /* settled ones need no place */
        *find_slot(&bigger, tally->slots[i].hash) = tally->slots[i];
        bigger.used++;
    }
    free(tally->slots);
    *tally = bigger;
    return true;
}

bool bf_tally_add(bf_tally_t *tally, uint64_t hash, int64_t by)
{
    if (tally->used * 4 >= tally->size * 3 && !grow(tally))
        return false;
    struct bf_tally_slot *slot = find_slot(tally, hash);
    tally->used += slot->hash == 0;
    slot->hash = hash;
    slot->count += by;
    return true;
}

int64_t bf_tally_get(const bf_tally_t *tally, uint64_t hash)
{
    return tally->size ? find_slot(tally, hash)->count : 0;
}

bool bf_tally_knows(const bf_tally_t *tally, uint64_t hash)
{
    return tally->size && find_slot(tally, hash)->hash == hash;
}

static const char *finding_name(bf_finding_t kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        BF_FINDING_LIST(X)
#undef X
    };
    return names[kind];
}

static void put_json(bf_str_t *out, bf_finding_t kind, const char *instance_id,
                     int64_t seq, const char *text)
{
    bf_str_printf(out, "{\"finding\":\"%s\",\"instance_id\":", finding_name(kind));
    if (instance_id)
        bf_json_write_string(out, instance_id, strlen(instance_id));
    else
        bf_str_puts(out, "null");
    if (seq > 0)
        bf_str_printf(out, ",\"seq\":%lld", (long long)seq);
    else
        bf_str_puts(out, ",\"seq\":null");
    bf_str_puts(out, ",\"text\":");
    bf_json_write_string(out, text, strlen(text));
    bf_str_puts(out, "}\n");
}

static void put_people(bf_str_t *out, bf_finding_t kind, const char *instance_id,
                       int64_t seq, const char *text)
{
    if (instance_id) {
        bf_text_put_safe(out, instance_id, strlen(instance_id));
        bf_str_puts(out, seq > 0 ? " " : ": ");
    }
    if (seq > 0)
        bf_str_printf(out, "seq %lld: ", (long long)seq);
    bf_text_put_safe(out, text, strlen(text));
    bf_str_printf(out, " [%s]\n", finding_name(kind));
}

void bf_verify_found(bf_verify_t *verify, bf_finding_t kind, const char *instance_id,
                     int64_t seq, const char *fmt, ...)
{
    verify->finding_count++;
    verify->by_kind[kind]++;
    if (verify->finding_count > verify->limit)
        return;
    char text[1200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bf_cli_progress_end();
    if (verify->json)
        put_json(&verify->out, kind, instance_id, seq, text);
    else
        put_people(&verify->out, kind, instance_id, seq, text);
    if (bf_cli_write(&verify->out, NULL) != BF_OK)
        verify->limit = 0; /* nobody reads; the exit status says it too */
}
