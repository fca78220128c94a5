/*
 * properties.h - raw librdkafka properties out of the settings
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PROPERTIES_H
#define BF_PROPERTIES_H

#include "bpmflow/consumer.h"
#include "worker/settings.h"

#define BF_PROPERTY_NAME_MAX 128

/**
 * Check "name=value" texts: the form, that librdkafka knows name and value, and that the
 * name is not one that the worker's guarantees stand on.
 * @param what  the setting, for the message
 */
bf_status_t bf_properties_check(const char *what, const bf_text_list_t *list,
                                bf_err_t *err) BF_MUST_USE;

/* Split properties; an array that the clients borrow. */
typedef struct bf_properties {
    bf_property_t *items;
    size_t count;
    char **texts; /* what items point into */
} bf_properties_t;

/** The common ones, then the special ones (which win). BF_E_NOMEM. */
bf_status_t bf_properties_make(const bf_text_list_t *common,
                               const bf_text_list_t *special, bf_properties_t *ret,
                               bf_err_t *err) BF_MUST_USE;
void bf_properties_fini(bf_properties_t *properties);

#endif /* BF_PROPERTIES_H */
