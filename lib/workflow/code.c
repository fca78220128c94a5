/*
 * code.c - names of the codes, and which code stands for which status
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/code.h"

#include <string.h>

static const struct {
    const char *name;
    const char *explanation;
} codes[] = {
#define X(id, text, explanation) {text, explanation},
    BF_CODE_LIST(X)
#undef X
};

const char *bf_code_name(bf_code_t code)
{
    return (unsigned)code < BF_CODE_COUNT ? codes[code].name : "unknown";
}

const char *bf_code_explanation(bf_code_t code)
{
    return (unsigned)code < BF_CODE_COUNT ? codes[code].explanation : "unknown";
}

bf_code_t bf_code_of_name(const char *name)
{
    unsigned i = 0;
    while (i < BF_CODE_COUNT && strcmp(codes[i].name, name) != 0) {
        i++;
    }
    return (bf_code_t)i;
}

bf_code_t bf_code_of_status(bf_status_t status)
{
    static const struct {
        bf_status_t status;
        bf_code_t code;
    } pairs[] = {
        {BF_OK, BF_CODE_OK},
        {BF_E_NOMEM, BF_CODE_NO_MEMORY},
        {BF_E_LIMIT, BF_CODE_LIMIT_EXCEEDED},
        {BF_E_STEP_LIMIT, BF_CODE_STEP_LIMIT},
        {BF_E_NO_ROUTE, BF_CODE_NO_ROUTE},
        {BF_E_EXPRESSION, BF_CODE_EXPRESSION_ERROR},
        {BF_E_COMPONENT, BF_CODE_COMPONENT_ERROR},
        {BF_E_UNSUPPORTED, BF_CODE_COMPONENT_ERROR},
        {BF_E_IO, BF_CODE_COMPONENT_ERROR},
        {BF_E_TIMEOUT, BF_CODE_COMPONENT_ERROR},
        {BF_E_CANCELLED, BF_CODE_COMPONENT_ERROR},
        {BF_E_NOT_FOUND, BF_CODE_UNKNOWN_NODE},
        {BF_E_CONFLICT, BF_CODE_REVISION_CONFLICT},
        {BF_E_INVALID, BF_CODE_MALFORMED},
        {BF_E_PARSE, BF_CODE_MALFORMED},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].status == status) {
            return pairs[i].code;
        }
    }
    return BF_CODE_STORAGE_REJECTED;
}
