/*
 * expr_int.h - inside of the expression language
 *
 * Text -> tokens (lex.c) -> instructions of a stack machine (parse.c, script.c), which
 * eval.c runs with the operators of ops.c and the functions of func*.c.  There are
 * forward jumps only, so the number of instructions bounds the run time; operators that
 * cost more than one step are charged for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EXPR_INT_H
#define BF_EXPR_INT_H

#include "bpmflow/expr.h"
#include "bpmflow/regex.h"

/* Longest text and deepest nesting that an expression may produce. */
#define BF_EXPR_MAX_RESULT_BYTES ((size_t)1024 * 1024)
#define BF_EXPR_MAX_VALUE_DEPTH  48

/* --- tokens --- */

typedef enum {
    BF_TK_END,
    BF_TK_INT,
    BF_TK_REAL,
    BF_TK_STRING,
    BF_TK_NAME,
    BF_TK_LPAREN,
    BF_TK_RPAREN,
    BF_TK_LBRACKET,
    BF_TK_RBRACKET,
    BF_TK_LBRACE,
    BF_TK_RBRACE,
    BF_TK_COMMA,
    BF_TK_SEMICOLON,
    BF_TK_DOT,
    BF_TK_SAFE_DOT,     /* ?. */
    BF_TK_QUESTION,     /* ?  */
    BF_TK_ELVIS,        /* ?: */
    BF_TK_COALESCE,     /* ?? */
    BF_TK_COLON,        /* :  */
    BF_TK_PLUS,         /* +  */
    BF_TK_MINUS,        /* -  */
    BF_TK_STAR,         /* *  */
    BF_TK_SLASH,        /* /  */
    BF_TK_PERCENT,      /* %  */
    BF_TK_ASSIGN,       /* =  */
    BF_TK_PLUS_ASSIGN,  /* += */
    BF_TK_MINUS_ASSIGN, /* -= */
    BF_TK_STAR_ASSIGN,  /* *= */
    BF_TK_SLASH_ASSIGN, /* /= */
    BF_TK_EQ,           /* == */
    BF_TK_NE,           /* != */
    BF_TK_LT,           /* <  */
    BF_TK_LE,           /* <= */
    BF_TK_GT,           /* >  */
    BF_TK_GE,           /* >= */
    BF_TK_AND,          /* && */
    BF_TK_OR,           /* || */
    BF_TK_NOT,          /* !  */
    BF_TK_HASH,         /* #  */
    BF_TK_OPEN          /* ${ and #{ */
} bf_token_kind_t;

typedef struct bf_token {
    bf_token_kind_t kind;
    uint32_t pos; /* byte offset of its first character */
    uint32_t len; /* bytes; STRING: with the quotes */
} bf_token_t;

typedef struct bf_lexer {
    const char *text;
    uint32_t len;
    uint32_t at; /* where the next token starts looking */
} bf_lexer_t;

/** The next token. BF_OK or BF_E_PARSE. */
bf_status_t bf_lex_next(bf_lexer_t *lexer, bf_token_t *ret, bf_err_t *err);

/**
 * "line 1 column 7: " + text + the line + a caret below the place.
 * @return status
 */
bf_status_t bf_expr_error(bf_err_t *err, bf_status_t status, const char *text, size_t len,
                          size_t pos, const char *fmt, ...) BF_PRINTF(6, 7);

/* --- code --- */

typedef enum {
    /* variable names[arg & 0xFFFF] compared (operator argc) with consts[arg >> 16] */
    BF_OP_TEST,
    BF_OP_CONST,   /* push consts[arg] */
    BF_OP_VAR,     /* push the variable names[arg] */
    BF_OP_VAR_DYN, /* pop a name, push that variable */
    BF_OP_MEMBER,  /* pop a map, push its member names[arg] */
    BF_OP_INDEX,   /* pop key and list or map, push the item */
    BF_OP_ADD,     /* pop b, pop a, push a + b; and so on */
    BF_OP_SUB,
    BF_OP_MUL,
    BF_OP_DIV,
    BF_OP_MOD,
    BF_OP_NEG,
    BF_OP_EQ,
    BF_OP_NE,
    BF_OP_LT,
    BF_OP_LE,
    BF_OP_GT,
    BF_OP_GE,
    BF_OP_NOT,
    BF_OP_AND,        /* top false: leave false and go to arg; else pop */
    BF_OP_OR,         /* top true: leave true and go to arg; else pop */
    BF_OP_BOOL,       /* truth of the top */
    BF_OP_JUMP,       /* go to arg */
    BF_OP_JUMP_FALSE, /* pop; false: go to arg */
    BF_OP_KEEP,       /* top not null: go to arg; else pop */
    BF_OP_IN,
    BF_OP_LIKE,
    BF_OP_MATCHES,     /* regexes[arg] against the top */
    BF_OP_LIST,        /* pop arg values, push a list of them */
    BF_OP_MAP,         /* pop arg pairs of name and value, push a map */
    BF_OP_CALL,        /* functions[arg] with argc values from the stack */
    BF_OP_UNKNOWN,     /* a call of something that does not exist: names[arg] */
    BF_OP_ASSIGN,      /* pop into the variable names[arg] */
    BF_OP_ASSIGN_DYN,  /* pop the value, pop the name */
    BF_OP_ASSIGN_PATH, /* pop into names[arg].names[arg + 1]..., argc names */
    BF_OP_STOP,
    BF_OP_INTERRUPT,
    BF_OP_POP,
    BF_OP_COUNT
} bf_op_t;

typedef struct bf_instr {
    uint8_t op;
    uint8_t argc;
    uint16_t pos; /* in the text, for messages */
    uint32_t arg;
} bf_instr_t;

_Static_assert(BF_EXPR_MAX_BYTES <= UINT16_MAX, "positions, names and constants count "
                                                "less than 16 bit");

typedef struct bf_name {
    const char *text;
    uint32_t len;
    uint64_t hash;
} bf_name_t;

typedef struct bf_code {
    const bf_instr_t *instrs;
    uint32_t count;
    uint32_t max_stack;
    const bf_value_t *consts;
    const bf_name_t *names;
    uint32_t name_count;
    const bf_regex_t *const *regexes;
    const char *text;
    uint32_t text_len;
    const char *unknown; /* first unknown call, NULL = none */
} bf_code_t;

struct bf_expr {
    bf_code_t code;
};

struct bf_script {
    bf_code_t code;
};

/* --- parser --- */

typedef struct bf_parser {
    bf_arena_t *arena;
    bf_lexer_t lexer;
    bf_token_t token; /* the current one */
    bf_err_t *err;
    bf_status_t rc; /* the first failure */
    uint32_t depth;
    uint32_t landed; /* the last instruction that a jump leads to */
    uint32_t stack;
    uint32_t max_stack;
    bf_instr_t *instrs;
    uint32_t count;
    size_t room;
    bf_value_t *consts;
    uint32_t const_count;
    size_t const_room;
    bf_name_t *names;
    uint32_t name_count;
    size_t name_room;
    const bf_regex_t **regexes;
    uint32_t regex_count;
    size_t regex_room;
    const char *unknown;
    const bf_code_t *beside; /* its names are used again; NULL = none */
} bf_parser_t;

bf_status_t bf_parser_init(bf_parser_t *p, bf_arena_t *arena, const char *text,
                           size_t len, bf_err_t *err);
void bf_parser_fini(bf_parser_t *p);
/** Move the code into the arena. */
bf_status_t bf_parser_finish(bf_parser_t *p, bf_code_t *ret);

/* All return false after a failure, which is in p->rc and p->err. */
bool bf_parser_next(bf_parser_t *p);
bool bf_parser_expect(bf_parser_t *p, bf_token_kind_t kind, const char *what);
bool bf_parser_fail(bf_parser_t *p, uint32_t pos, const char *fmt, ...) BF_PRINTF(3, 4);
bool bf_parser_unexpected(bf_parser_t *p, const char *expected);
bool bf_parser_enter(bf_parser_t *p);
void bf_parser_leave(bf_parser_t *p);
/** True when the current token is this name. */
bool bf_parser_at_name(const bf_parser_t *p, const char *name);
/** Append an instruction; its number through ret (may be NULL). */
bool bf_parser_emit(bf_parser_t *p, bf_op_t op, uint32_t argc, uint32_t arg, uint32_t pos,
                    uint32_t *ret);
/** Make a boolean of the top of the stack, unless it is one for certain. */
bool bf_parser_emit_bool(bf_parser_t *p, uint32_t pos);
/** Make the jump go to the next instruction. */
void bf_parser_land(bf_parser_t *p, uint32_t jump);
bool bf_parser_add_name(bf_parser_t *p, const char *text, size_t len, uint32_t *ret);
bool bf_parser_add_const(bf_parser_t *p, bf_value_t value, uint32_t *ret);
/** Match the top of the stack against a pattern. */
bool bf_parser_add_regex(bf_parser_t *p, const bf_regex_t *regex, uint32_t pos);
/** Content of the current STRING token, copied. */
bool bf_parser_string(bf_parser_t *p, const char **ret, uint32_t *ret_len);
bool bf_parser_expression(bf_parser_t *p);

/* --- functions --- */

typedef struct bf_vm {
    const bf_code_t *code;
    const bf_expr_env_t *env;
    bf_err_t *err;
    int64_t steps; /* left */
    uint32_t pos;  /* of the running instruction */
} bf_vm_t;

typedef bf_status_t (*bf_function_fn)(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                      bf_value_t *ret);

/* How a function may be called. */
#define BF_FN_PLAIN  1U /* size(x) */
#define BF_FN_METHOD 2U /* x.size() */
#define BF_FN_BOTH   (BF_FN_PLAIN | BF_FN_METHOD)
#define BF_FN_NULL   4U /* a method that takes a null receiver; others give null */

typedef struct bf_function {
    const char *name;
    uint8_t min_args; /* with the receiver */
    uint8_t max_args;
    uint8_t flags;
    bf_function_fn fn;
} bf_function_t;

#define BF_ARGS_ANY UINT8_MAX

/** Number of a function, or -1. @param how BF_FN_PLAIN or BF_FN_METHOD */
int bf_function_find(const char *name, size_t len, unsigned how);
/** `Class.name(...)` of Java: number of the function that does it, or -1. */
int bf_function_find_static(const char *class_name, size_t class_len, const char *name,
                            size_t len);
bool bf_function_is_class(const char *name, size_t len);
const bf_function_t *bf_function_at(uint32_t number);

/* indexOf of a text in a text; the list form is in func_list.c. */
bf_status_t bf_fn_index_of_text(bf_vm_t *vm, const bf_value_t *args, bf_value_t *ret);

/* Tables of func_text.c, func_list.c, func_num.c and func_date.c; ended by a NULL name.
 */
extern const bf_function_t bf_functions_text[];
extern const bf_function_t bf_functions_list[];
extern const bf_function_t bf_functions_num[];
extern const bf_function_t bf_functions_date[];

/* --- machine --- */

/** Shorten code: a variable compared with a constant becomes one instruction. */
bf_status_t bf_code_fuse(bf_instr_t *instrs, uint32_t *count);

/** Run code. ret may be NULL (scripts). */
bf_status_t bf_code_run(const bf_code_t *code, const bf_expr_env_t *env, bf_value_t *ret,
                        bf_err_t *err);

bf_status_t bf_vm_fail(bf_vm_t *vm, const char *fmt, ...) BF_PRINTF(2, 3);
/** Count steps; BF_E_EXPRESSION when there are too many. */
bf_status_t bf_vm_charge(bf_vm_t *vm, size_t steps);
/** Memory for a result; charged. */
bf_status_t bf_vm_alloc(bf_vm_t *vm, size_t bytes, void **ret);
/** A string value from bytes, copied. */
bf_status_t bf_vm_string(bf_vm_t *vm, const char *text, size_t len, bf_value_t *ret);
/** Any value as a string value (as concatenation shows it). */
bf_status_t bf_vm_text(bf_vm_t *vm, const bf_value_t *value, bf_value_t *ret);

/* --- operators (ops.c) --- */

bf_status_t bf_op_arithmetic(bf_vm_t *vm, bf_op_t op, const bf_value_t *a,
                             const bf_value_t *b, bf_value_t *ret);
bf_status_t bf_op_negate(bf_vm_t *vm, const bf_value_t *a, bf_value_t *ret);
/** Equality as `==` sees it. */
bf_status_t bf_op_equal(bf_vm_t *vm, const bf_value_t *a, const bf_value_t *b, bool *ret);
/** `<` `<=` `>` `>=`; null on a side gives false. */
bf_status_t bf_op_order(bf_vm_t *vm, bf_op_t op, const bf_value_t *a, const bf_value_t *b,
                        bool *ret);
bf_status_t bf_op_in(bf_vm_t *vm, const bf_value_t *item, const bf_value_t *holder,
                     bool *ret);
bf_status_t bf_op_like(bf_vm_t *vm, const bf_value_t *text, const bf_value_t *part,
                       bool *ret);
bf_status_t bf_op_matches(bf_vm_t *vm, const bf_value_t *text, const bf_regex_t *regex,
                          bool *ret);
bf_status_t bf_op_index(bf_vm_t *vm, const bf_value_t *holder, const bf_value_t *key,
                        bf_value_t *ret);
/** Check depth and size of a value that is about to be stored. */
bf_status_t bf_op_check_size(bf_vm_t *vm, const bf_value_t *value);

/** Numeric value of INT or REAL. */
double bf_op_real(const bf_value_t *number);
bool bf_op_is_number(const bf_value_t *value);

#endif /* BF_EXPR_INT_H */
