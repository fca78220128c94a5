/*
 * publisher_merge.c - several publications as one
 *
 * What has been committed while a transaction went on is published by one transaction:
 * its cost hardly depends on how much is in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "publisher_int.h"

size_t bf_merge_count(const bf_publication_t *items, size_t count)
{
    size_t messages = items[0].message_count;
    size_t n = 1;
    while (n < count && !items[n].group == !items[0].group &&
           messages + items[n].message_count <= BF_MERGE_MAX_MESSAGES) {
        messages += items[n++].message_count;
    }
    return n;
}

/* Later offsets of a partition replace earlier ones. */
static void add_offset(bf_merge_t *merge, const bf_topic_partition_t *offset)
{
    bf_publication_t *all = &merge->publication;
    for (size_t i = 0; i < all->offset_count; i++) {
        bf_topic_partition_t *known = &merge->offsets[i];
        BF_ASSERT(known->topic);
        if (known->partition == offset->partition &&
            strcmp(known->topic, offset->topic) == 0) {
            *known = *offset;
            return;
        }
    }
    merge->offsets[all->offset_count++] = *offset;
}

bf_status_t bf_merge_make(bf_merge_t *merge, bf_early_t *early,
                          const bf_publication_t *items, size_t count, bf_err_t *err)
{
    size_t messages = 0;
    size_t offsets = 0;
    for (size_t i = 0; i < count; i++) {
        messages += items[i].message_count;
        offsets += items[i].offset_count;
    }
    memset(merge, 0, sizeof(*merge));
    merge->messages = calloc(messages + 1, sizeof(*merge->messages));
    merge->offsets = calloc(offsets + 1, sizeof(*merge->offsets));
    if (!merge->messages || !merge->offsets) {
        bf_merge_free(merge);
        return bf_err_nomem(err, "publishing");
    }
    bf_publication_t *all = &merge->publication;
    for (size_t i = 0; i < count; i++) {
        bool sent = bf_early_is_done(early, &items[i]);
        if (!sent) {
            bf_early_repeat_from(early, &items[i]);
        }
        for (size_t k = 0; k < items[i].message_count; k++) {
            if (!sent || !bf_early_includes(early, &items[i].messages[k])) {
                merge->messages[all->message_count++] = items[i].messages[k];
            }
        }
        for (size_t k = 0; k < items[i].offset_count; k++) {
            add_offset(merge, &items[i].offsets[k]);
        }
        all->group = items[i].group;
    }
    all->messages = merge->messages;
    all->offsets = merge->offsets;
    return BF_OK;
}

void bf_merge_free(bf_merge_t *merge)
{
    free(merge->messages);
    free(merge->offsets);
    memset(merge, 0, sizeof(*merge));
}
