/*
 * load_code.c - tasks and conditions: what kind of text they are, parsed once
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/model/load_int.h"

/* Without characters up to the blank at both ends, as Java's trim (rule 14). */
static void trim(const char **text, size_t *len)
{
    while (*len && (unsigned char)(*text)[0] <= ' ') {
        (*text)++;
        (*len)--;
    }
    while (*len && (unsigned char)(*text)[*len - 1] <= ' ') {
        (*len)--;
    }
}

static void parse_script(bf_loader_t *ld, const char *text, uint32_t line,
                         const char *node, const char *what, bf_code_ref_t *ret)
{
    bf_err_t why = BF_ERR_INIT;
    bf_script_t *script = NULL;
    bf_status_t rc = bf_script_parse(ld->arena, text, strlen(text), &script, &why);
    if (rc == BF_E_NOMEM) {
        (void)bf_load_nomem(ld);
        return;
    }
    if (rc != BF_OK) {
        bf_load_error(ld, line, node, "%s: %s", what, why.text);
        return;
    }
    if (bf_script_unknown_call(script)) {
        bf_load_warning(ld, line, node,
                        "%s: there is no function '%s'; running this will fail", what,
                        bf_script_unknown_call(script));
    }
    ret->script = script;
}

static void parse_condition(bf_loader_t *ld, const char *text, uint32_t line,
                            const char *node, bf_code_ref_t *ret)
{
    bf_err_t why = BF_ERR_INIT;
    bf_expr_t *expr = NULL;
    bf_status_t rc = bf_expr_parse_beside(ld->arena, text, strlen(text),
                                          ld->last_condition, &expr, &why);
    if (rc == BF_E_NOMEM) {
        (void)bf_load_nomem(ld);
        return;
    }
    if (rc != BF_OK) {
        bf_load_error(ld, line, node, "condition: %s", why.text);
        return;
    }
    if (bf_expr_unknown_call(expr)) {
        bf_load_warning(ld, line, node,
                        "condition: there is no function '%s'; evaluating this will fail",
                        bf_expr_unknown_call(expr));
    }
    ret->expr = expr;
    ld->last_condition = expr;
}

/* `$a.b`: the script stands in the graph's meta. */
static void meta_script(bf_loader_t *ld, uint32_t line, const char *node,
                        bf_code_ref_t *ret)
{
    const bf_value_t *text = bf_graph_path(&ld->full->graph.meta, ret->name);
    if (bf_value_is_null(text)) {
        bf_load_warning(ld, line, node,
                        "the task %s is not in the meta of the graph; running it will "
                        "fail",
                        ret->text);
        return;
    }
    if (text->type != BF_VALUE_STRING) {
        bf_load_error(ld, line, node,
                      "the task %s must be a text in the meta of the graph, not a %s",
                      ret->text, bf_value_type_name(text->type));
        return;
    }
    parse_script(ld, text->as.string, line, node, ret->text, ret);
}

#define TOPIC_PREFIX   "@kafka:"
#define TOPIC_NAME_MAX 249

/* `@kafka:topic`: the work of the node is handed to a service. */
static void topic_task(bf_loader_t *ld, bool is_task, uint32_t line, const char *node,
                       bf_code_ref_t *ret)
{
    const char *name = ret->text + sizeof(TOPIC_PREFIX) - 1;
    size_t len = strlen(name);
    if (!is_task) {
        bf_load_error(
            ld, line, node,
            "%s hands work to a service and is no condition; ask for a variable "
            "that the service has set",
            ret->text);
        return;
    }
    bool dots = !strcmp(name, ".") || !strcmp(name, "..");
    if (!len || len > TOPIC_NAME_MAX || dots ||
        strspn(name,
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
            len) {
        bf_load_error(ld, line, node,
                      "'%s' is no name of a topic: 1 to %d letters, digits, dots, "
                      "underscores and dashes",
                      name, TOPIC_NAME_MAX);
        return;
    }
    ret->kind = BF_CODE_TOPIC;
    ret->name = name;
}

void bf_load_code(bf_loader_t *ld, const bf_doc_t *doc, bool is_task, const char *node,
                  bf_code_ref_t *ret)
{
    *ret = (bf_code_ref_t){.kind = BF_CODE_NONE};
    if (!doc || doc->value.type == BF_VALUE_NULL) {
        return;
    }
    if (doc->value.type >= BF_VALUE_LIST) {
        bf_load_error(ld, doc->line, node, "%s must be a text, not a %s",
                      is_task ? "task" : "when", bf_value_type_name(doc->value.type));
        return;
    }
    const char *text = doc->text;
    size_t len = doc->text_len;
    trim(&text, &len);
    if (!len) {
        return;
    }
    ret->text = bf_arena_strndup(ld->arena, text, len);
    if (!ret->text) {
        (void)bf_load_nomem(ld);
        return;
    }
    char first = ret->text[0];
    bool reference = first == '@' || (is_task && first == '#');
    /* `${x}` is a placeholder, `$x` a script from the meta. */
    bool from_meta = is_task && first == '$' && ret->text[1] != '{';
    ret->name = reference || from_meta ? ret->text + 1 : NULL;
    if (!strncmp(ret->text, TOPIC_PREFIX, sizeof(TOPIC_PREFIX) - 1)) {
        topic_task(ld, is_task, doc->line, node, ret);
    } else if (reference && !ret->name[0]) {
        bf_load_error(ld, doc->line, node, "a name is missing behind %c", first);
    } else if (reference) {
        ret->kind = first == '@' ? BF_CODE_COMPONENT : BF_CODE_GRAPH;
    } else if (from_meta) {
        ret->kind = BF_CODE_SCRIPT;
        meta_script(ld, doc->line, node, ret);
    } else if (is_task) {
        ret->kind = BF_CODE_SCRIPT;
        parse_script(ld, ret->text, doc->line, node, "task", ret);
    } else {
        ret->kind = BF_CODE_EXPRESSION;
        parse_condition(ld, ret->text, doc->line, node, ret);
    }
}
