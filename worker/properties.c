/*
 * properties.c - raw librdkafka properties out of the settings
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/properties.h"

#include <stdlib.h>
#include <string.h>

/* These have a setting of their own, or a reason that is worth a sentence. */
static const struct {
    const char *name;
    const char *remedy;
} remedies[] = {
    {"bootstrap.servers", "use kafka.brokers"},
    {"metadata.broker.list", "use kafka.brokers"},
    {"group.id", "use kafka.group"},
    {"client.id", "it is made from worker.id"},
    {"transactional.id", "it is made from kafka.group and worker.id"},
    {"session.timeout.ms", "use kafka.session_timeout_ms"},
    {"transaction.timeout.ms", "use kafka.transaction_timeout_ms"},
    {"sasl.password", "use kafka.sasl_password_env or kafka.sasl_password_file"},
    {"auto.offset.reset", "use worker.first_start and worker.on_gap"},
    {"partition.assignment.strategy", "the worker needs the eager protocol"},
    {"group.instance.id", "static membership is not supported"},
    {"partitioner", "events and replies go where Java's partitioner puts them"},
};

static bf_status_t check_one(const char *what, const char *text, bool producer,
                             bf_err_t *err)
{
    char name[BF_PROPERTY_NAME_MAX];
    size_t len = strcspn(text, "=");
    if (text[len] != '=' || len == 0 || len >= sizeof(name)) {
        return bf_err_set(err, BF_E_INVALID, "%s: \"%.*s\" is not \"name=value\"", what,
                          (int)(len > 64 ? 64 : len), text);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        if (strcmp(remedies[i].name, name) == 0) {
            return bf_err_set(err, BF_E_INVALID, "%s: %s cannot be set here: %s", what,
                              name, remedies[i].remedy);
        }
    }
    bf_err_t reason = BF_ERR_INIT;
    const bf_property_t property = {name, text + len + 1};
    bf_status_t rc = bf_property_check(&property, producer, &reason);
    return rc == BF_OK ? BF_OK : bf_err_set(err, rc, "%s: %s", what, reason.text);
}

bf_status_t bf_properties_check(const char *what, const bf_text_list_t *list,
                                bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    bool producer = strstr(what, "producer") != NULL;
    for (size_t i = 0; i < list->count && rc == BF_OK; i++) {
        rc = check_one(what, list->items[i], producer, err);
    }
    return rc;
}

static bf_status_t add_all(const bf_text_list_t *list, bf_properties_t *ret,
                           bf_err_t *err)
{
    for (size_t i = 0; i < list->count; i++) {
        char *text = strdup(list->items[i]);
        if (!text) {
            return bf_err_nomem(err, "properties");
        }
        char *value = strchr(text, '=');
        if (!value) { /* bf_properties_check() has refused it */
            free(text);
            continue;
        }
        *value = '\0';
        ret->texts[ret->count] = text;
        ret->items[ret->count] = (bf_property_t){text, value + 1};
        ret->count++;
    }
    return BF_OK;
}

bf_status_t bf_properties_make(const bf_text_list_t *common,
                               const bf_text_list_t *special, bf_properties_t *ret,
                               bf_err_t *err)
{
    size_t max = common->count + special->count + 1;
    memset(ret, 0, sizeof(*ret));
    ret->items = calloc(max, sizeof(*ret->items));
    ret->texts = calloc(max, sizeof(*ret->texts));
    bf_status_t rc = BF_OK;
    if (!ret->items || !ret->texts) {
        rc = bf_err_nomem(err, "properties");
    }
    if (rc == BF_OK) {
        rc = add_all(common, ret, err);
    }
    if (rc == BF_OK) {
        rc = add_all(special, ret, err);
    }
    if (rc != BF_OK) {
        bf_properties_fini(ret);
    }
    return rc;
}

void bf_properties_fini(bf_properties_t *properties)
{
    for (size_t i = 0; i < properties->count; i++) {
        free(properties->texts[i]);
    }
    free(properties->texts);
    free(properties->items);
    memset(properties, 0, sizeof(*properties));
}
