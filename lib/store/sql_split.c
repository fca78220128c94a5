/*
 * sql_split.c - the statements of a migration's text, one by one
 *
 * Knows what the servers' own lexers know: three kinds of quotes with doubled quotes and
 * backslashes, three kinds of comments.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/store/migrations_int.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Length of the comment that begins here, 0 = none does. "--" needs a blank behind it. */
static size_t comment_length(const char *text, size_t len)
{
    bool to_line_end = text[0] == '#' || (len >= 2 && text[0] == '-' && text[1] == '-' &&
                                          (len == 2 || is_blank(text[2])));
    if (to_line_end) {
        const char *end = memchr(text, '\n', len);
        return end != NULL ? (size_t)(end - text) + 1 : len;
    }
    if (len >= 2 && text[0] == '/' && text[1] == '*') {
        const char *end = memmem(text + 2, len - 2, "*/", 2);
        return end != NULL ? (size_t)(end - text) + 2 : len;
    }
    return 0;
}

/* Length of the quoted text that begins here, 0 = none does. A doubled quote reads as two
 * quoted texts side by side, which is the same for us. */
static size_t quoted_length(const char *text, size_t len)
{
    char quote = text[0];
    if (quote != '\'' && quote != '"' && quote != '`') {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if (text[i] == '\\' && quote != '`') {
            i++;
        } else if (text[i] == quote) {
            return i + 1;
        }
    }
    return len;
}

static void skip(bf_sql_piece_t *piece, size_t len)
{
    piece->data += len;
    piece->len -= len;
}

bool bf_sql_next(bf_sql_piece_t *rest, bf_sql_piece_t *ret)
{
    while (rest->len > 0) { /* blanks, comments and empty statements */
        size_t comment = comment_length(rest->data, rest->len);
        if (comment > 0) {
            skip(rest, comment);
        } else if (is_blank(rest->data[0]) || rest->data[0] == ';') {
            skip(rest, 1);
        } else {
            break;
        }
    }
    if (rest->len == 0) {
        return false;
    }
    size_t i = 0;
    while (i < rest->len && rest->data[i] != ';') {
        size_t len = quoted_length(rest->data + i, rest->len - i);
        if (len == 0) {
            len = comment_length(rest->data + i, rest->len - i);
        }
        i += len > 0 ? len : 1;
    }
    ret->data = rest->data;
    ret->len = i;
    skip(rest, i < rest->len ? i + 1 : i);
    while (ret->len > 0 && is_blank(ret->data[ret->len - 1])) {
        ret->len--;
    }
    return true;
}
