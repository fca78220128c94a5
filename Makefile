# bpmflow: every entry point. `make help` lists the targets.
#
# Variants live in their own build folder:
#   make SAN=address,undefined   sanitizers            build-address-undefined/
#   make SAN=thread              thread sanitizer      build-thread/
#   make DEBUG=1                 -O0 -g3               build-debug/
#   make WERROR=1                full warnings are errors (default of CI), same folder
#   make BUILD=dir               any other folder
.DEFAULT_GOAL := all
SHELL := /bin/bash

VERSION := $(shell cat include/bpmflow/version.h | sed -n 's/^\#define BF_VERSION "\(.*\)"/\1/p')

comma := ,
SAN ?=
DEBUG ?=
WERROR ?=
V ?=
ifneq ($(SAN),)
BUILD ?= build-$(subst $(comma),-,$(SAN))
else ifneq ($(DEBUG),)
BUILD ?= build-debug
else
BUILD ?= build
endif
Q := $(if $(V),,@)

CC ?= gcc
AR ?= ar
PKG_CONFIG ?= pkg-config
OPT := $(if $(DEBUG),-O0 -g3,-O2 -g)

# Third-party include folders are -isystem, so that their headers are not ours.
pkg_cflags = $(subst -I,-isystem ,$(shell $(PKG_CONFIG) --cflags $(1)))
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1))
MYSQL_PKG ?= $(shell $(PKG_CONFIG) --exists libmariadb && echo libmariadb || echo mysqlclient)

WARN := -Wall -Wextra
ifneq ($(WERROR),)
WARN += -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wold-style-definition \
        -Wmissing-prototypes -Wmissing-declarations -Wpointer-arith -Wwrite-strings \
        -Wcast-qual -Wcast-align -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough \
        -Wswitch-enum -Wnull-dereference -Wdouble-promotion -Wconversion \
        -Wsign-conversion -Wunused -Wnested-externs
ifneq ($(findstring gcc,$(shell $(CC) --version | head -1)),)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init \
        -Wformat-overflow=2 -Wformat-truncation=2 -Wstringop-overflow=4 -Walloc-zero \
        -Wtrampolines
endif
endif

CPPFLAGS_ALL := -D_GNU_SOURCE -Iinclude -I. $(CPPFLAGS)
CFLAGS_ALL := -std=gnu11 $(OPT) -fPIC -pthread -fno-omit-frame-pointer \
              -ffile-prefix-map=$(CURDIR)=. $(WARN) $(CFLAGS)
LDFLAGS_ALL := -pthread $(LDFLAGS)
ifneq ($(SAN),)
CFLAGS_ALL += -fsanitize=$(SAN) -fno-sanitize-recover=all -DBF_SANITIZED=1
LDFLAGS_ALL += -fsanitize=$(SAN)
ifneq ($(findstring address,$(SAN)),)
CPPFLAGS_ALL += -DBF_ARENA_DEBUG=1
endif
else
CFLAGS_ALL += -fstack-protector-strong
ifeq ($(DEBUG),)
CPPFLAGS_ALL += -D_FORTIFY_SOURCE=2
endif
endif

DEPS_CORE := jansson yaml-0.1
DEPS_ALL := $(DEPS_CORE) rdkafka $(MYSQL_PKG) libconfig libmicrohttpd
CPPFLAGS_ALL += $(call pkg_cflags,$(DEPS_ALL))
LIBS_ALL = $(call pkg_libs,$(DEPS_ALL)) -lm
LIBS_TEST = $(call pkg_libs,criterion) $(LIBS_ALL)

LAYERS := base expr model engine workflow approval store bus ops
LIB_SRC := $(sort $(foreach l,$(LAYERS),$(wildcard lib/$(l)/*.c)))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o)
WORKER_SRC := $(sort $(wildcard worker/*.c))
CLI_SRC := $(sort $(wildcard worker/cli/*.c))
CONF_SRC := $(sort $(wildcard tests/conformance/*.c))

LIB_A := $(BUILD)/lib/libbpmflow.a
LIB_SO := $(BUILD)/lib/libbpmflow.so

BINS := $(if $(WORKER_SRC),$(BUILD)/bin/bpmflow-worker) $(if $(CLI_SRC),$(BUILD)/bin/bpmflow) \
        $(if $(CONF_SRC),$(BUILD)/bin/bpmflow-conformance)

all: $(LIB_A) $(LIB_SO) $(BINS) ## Build the library, the worker and the command line tool

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(LIB_A): $(LIB_OBJ)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(LIB_SO): $(LIB_OBJ)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -shared -o $@ $^ $(LIBS_ALL)

$(BUILD)/bin/bpmflow-worker: $(WORKER_SRC:%.c=$(BUILD)/obj/%.o) $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -rdynamic -o $@ $^ $(LIBS_ALL)

$(BUILD)/bin/bpmflow: $(CLI_SRC:%.c=$(BUILD)/obj/%.o) $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

$(BUILD)/bin/bpmflow-conformance: $(CONF_SRC:%.c=$(BUILD)/obj/%.o) $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

# --- tests: each tests/<level>/test_*.c is one program; tests/<level>/support/*.c is shared
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
COMPONENT_TESTS := $(patsubst tests/component/%.c,$(BUILD)/tests/component/%,$(sort $(wildcard tests/component/test_*.c)))
THREAD_TESTS := $(patsubst tests/threads/%.c,$(BUILD)/tests/threads/%,$(sort $(wildcard tests/threads/test_*.c)))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
SUPPORT_OBJ := $(SUPPORT_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(SUPPORT_OBJ) $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_TEST)

$(BUILD)/tests/component/%: $(BUILD)/obj/tests/component/%.o $(SUPPORT_OBJ) $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_TEST)

$(BUILD)/tests/threads/%: $(BUILD)/obj/tests/threads/%.o $(LIB_A)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

.SECONDARY:
.PHONY: all help clean check-unit

check-unit: $(UNIT_TESTS) ## Run the unit tests (no services)
	@set -e; for t in $^; do echo "== $$t"; $$t; done

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-20s %s\n", $$1, $$2}'

clean: ## Remove the build folder
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
