/*
 * id.h - what an ID may look like, and random IDs
 *
 * IDs of instances, commands, graphs and nodes are 1-64 characters of UTF-8 without
 * control characters and without blanks at the ends: PAD SPACE collations would
 * otherwise make `a` and `a ` one instance.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ID_H
#define BF_ID_H

#include "bpmflow/err.h"

/* Characters, and the bytes that they may take in UTF-8 (without NUL). */
#define BF_ID_MAX_CHARS 64
#define BF_ID_MAX_BYTES 256
#define BF_UUID_TEXT    37

/** True when the bytes are valid UTF-8 (no overlong forms, no surrogates). */
bool bf_utf8_is_valid(const char *text, size_t len);

/** Number of characters (code points) of valid UTF-8. */
size_t bf_utf8_length(const char *text, size_t len);

/**
 * Check an ID.
 * @param what  the field, for the message ("instance_id")
 * @return BF_OK; BF_E_INVALID (empty, bad UTF-8, control characters, blanks at the
 *         ends); BF_E_LIMIT (over 64 characters). The message says which.
 */
bf_status_t bf_id_check(const char *what, const char *text, size_t len,
                        bf_err_t *err) BF_MUST_USE;

/** A random version-4 UUID in lower case. */
void bf_uuid_make(char ret[BF_UUID_TEXT]);

/** Java's murmur2 over the key, as Kafka's default partitioner uses it. */
unsigned bf_murmur2(const void *data, size_t len);

#endif /* BF_ID_H */
