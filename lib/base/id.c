/*
 * id.c - IDs, UTF-8, UUIDs and Kafka's key hash
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/id.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "bpmflow/clock.h"
#include "bpmflow/map.h"

/* Length of the character at p (1-4), or 0 when it is not valid UTF-8. */
static size_t utf8_step(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80) {
        return 1;
    }
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > left) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : n;
}

bool bf_utf8_is_valid(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0; i < len;) {
        size_t n = utf8_step(p + i, len - i);
        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

size_t bf_utf8_length(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

/* ASCII controls, DEL, and the C1 controls U+0080-U+009F. */
static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            return true;
        }
        if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0) {
            return true;
        }
    }
    return false;
}

bf_status_t bf_id_check(const char *what, const char *text, size_t len, bf_err_t *err)
{
    if (len == 0) {
        return bf_err_set(err, BF_E_INVALID, "%s is empty; it needs 1 to %d characters",
                          what, BF_ID_MAX_CHARS);
    }
    if (!bf_utf8_is_valid(text, len)) {
        return bf_err_set(err, BF_E_INVALID, "%s is not valid UTF-8", what);
    }
    if (bf_utf8_length(text, len) > BF_ID_MAX_CHARS) {
        return bf_err_set(err, BF_E_LIMIT,
                          "%s has %zu characters; at most %d are allowed", what,
                          bf_utf8_length(text, len), BF_ID_MAX_CHARS);
    }
    if (has_control(text, len)) {
        return bf_err_set(err, BF_E_INVALID, "%s contains a control character; remove it",
                          what);
    }
    if (text[0] == ' ' || text[len - 1] == ' ') {
        return bf_err_set(err, BF_E_INVALID, "%s begins or ends with a blank; remove it",
                          what);
    }
    return BF_OK;
}

void bf_uuid_make(char ret[BF_UUID_TEXT])
{
    unsigned char b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
        /* Only on kernels without the call: time and address are unique enough here. */
        int64_t seed[2] = {bf_clock_wall_ms(), bf_clock_mono_ns()};
        uint64_t h[2] = {bf_hash_bytes(seed, sizeof(seed)), bf_hash_bytes(seed, 8)};
        memcpy(b, h, sizeof(b));
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    (void)snprintf(ret, BF_UUID_TEXT,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
                   b[11], b[12], b[13], b[14], b[15]);
}

unsigned bf_murmur2(const void *data, size_t len)
{
    const unsigned char *p = data;
    const uint32_t m = 0x5bd1e995;
    uint32_t h = 0x9747b28cU ^ (uint32_t)len;
    for (; len >= 4; p += 4, len -= 4) {
        uint32_t k = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h = h * m ^ k;
    }
    if (len >= 3) {
        h ^= (uint32_t)p[2] << 16;
    }
    if (len >= 2) {
        h ^= (uint32_t)p[1] << 8;
    }
    if (len >= 1) {
        h ^= p[0];
        h *= m;
    }
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return h;
}
