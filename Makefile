# bpmflow: every entry point. `make help` lists the targets.
#
# Variants live in their own build folder:
#   make SAN=address,undefined   sanitizers            build-address-undefined/
#   make SAN=thread              thread sanitizer      build-thread/
#   make DEBUG=1                 -O0 -g3               build-debug/
#   make FAULTS=1                fault points          build-faults/   (system tests only)
#   make WERROR=1                full warnings are errors (default of CI), same folder
#   make BUILD=dir               any other folder
.DEFAULT_GOAL := all
SHELL := /bin/bash
MAKEFLAGS += --no-builtin-rules

VERSION := $(shell sed -n 's/^\#define BF_VERSION "\(.*\)"/\1/p' include/bpmflow/version.h)

comma := ,
SAN ?=
DEBUG ?=
FAULTS ?=
WERROR ?=
V ?=
ifneq ($(SAN),)
BUILD ?= build-$(subst $(comma),-,$(SAN))
else ifneq ($(DEBUG),)
BUILD ?= build-debug
else ifneq ($(FAULTS),)
BUILD ?= build-faults
else
BUILD ?= build
endif
Q := $(if $(V),,@)
JOBS ?= $(shell nproc)

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif
PKG_CONFIG ?= pkg-config
OPT := $(if $(DEBUG),-O0 -g3,$(if $(SAN),-O1 -g,-O2 -g))
# Nobody replaces single functions of the libraries, so they may be inlined (clang's way).
# A command goes through many small functions of lib/workflow: measured, inlining more of
# them makes claim + submit a tenth faster; elsewhere it gains nothing.
OPT_LIB := $(OPT) -fno-semantic-interposition
OPT_WORKFLOW := $(OPT_LIB:-O2=-O3)

# Third-party include folders are -isystem, so that their headers are not ours.
pkg_cflags = $(subst -I,-isystem ,$(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null))
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
MYSQL_PKG ?= $(shell $(PKG_CONFIG) --exists libmariadb 2>/dev/null && echo libmariadb || echo mysqlclient)

WARN := -Wall -Wextra
ifneq ($(WERROR),)
WARN += -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wold-style-definition \
        -Wmissing-prototypes -Wmissing-declarations -Wpointer-arith -Wwrite-strings \
        -Wcast-qual -Wcast-align -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough \
        -Wswitch-enum -Wnull-dereference -Wdouble-promotion -Wconversion \
        -Wsign-conversion -Wunused -Wnested-externs
ifeq ($(findstring clang,$(CC)),)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wjump-misses-init \
        -Wformat-overflow=2 -Wformat-truncation=1 -Wstringop-overflow=4 -Walloc-zero \
        -Wtrampolines
endif
endif

# What each library needs; the programs need libconfig, and tests compare with jansson.
DEPS_bpmflow := yaml-0.1
DEPS_bpmflow-store := $(MYSQL_PKG)
DEPS_bpmflow-bus := rdkafka
DEPS_bpmflow-ops := libmicrohttpd
DEPS_ALL := $(DEPS_bpmflow) $(DEPS_bpmflow-store) $(DEPS_bpmflow-bus) $(DEPS_bpmflow-ops) \
            libconfig jansson
DEPS_CFLAGS := $(call pkg_cflags,$(DEPS_ALL))
DEPS_LIBS := $(call pkg_libs,$(DEPS_ALL)) -lm
LIBS_TEST = $(call pkg_libs,criterion) $(DEPS_LIBS)

CPPFLAGS_ALL := -D_GNU_SOURCE -Iinclude -I. $(DEPS_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 $(OPT) -fPIC -pthread -fno-omit-frame-pointer \
             -ffile-prefix-map=$(CURDIR)=. $(WARN) $(CFLAGS)
LDFLAGS_ALL := -pthread -Wl,-z,relro,-z,now $(LDFLAGS)
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
ifneq ($(FAULTS),)
CPPFLAGS_ALL += -DBF_FAULTS=1
endif

# libbpmflow does no input and output but reading definitions; each of the others stands
# on it.  In the order in which they are linked.
LIBRARIES := bpmflow-store bpmflow-bus bpmflow-ops bpmflow
LAYERS_bpmflow := base expr model engine workflow approval
LAYERS_bpmflow-store := store
LAYERS_bpmflow-bus := bus
LAYERS_bpmflow-ops := ops
lib_src = $(sort $(foreach l,$(LAYERS_$(1)),$(wildcard lib/$(l)/*.c)))
LIB_SRC := $(foreach l,$(LIBRARIES),$(call lib_src,$(l)))
WORKER_SRC := $(sort $(wildcard worker/*.c))
CLI_SRC := $(sort $(wildcard worker/cli/*.c))
# The tool reads the worker's configuration file with the worker's own table.
CLI_SHARED := $(wildcard worker/settings.c worker/settings_file.c worker/settings_finish.c \
              worker/properties.c)
CONF_SRC := $(sort $(wildcard tests/conformance/*.c))
ALL_HEADERS = $(shell find include lib worker tests deploy -name '*.h' 2>/dev/null)
ALL_C = $(shell find lib worker tests deploy -name '*.c' 2>/dev/null | sort)

CORE_A := $(BUILD)/lib/libbpmflow.a
CORE_SO := $(BUILD)/lib/libbpmflow.so
LIB_A := $(LIBRARIES:%=$(BUILD)/lib/lib%.a)
LIB_SO := $(LIBRARIES:%=$(BUILD)/lib/lib%.so)
SO_MAJOR := $(firstword $(subst ., ,$(VERSION)))

BINS := $(if $(WORKER_SRC),$(BUILD)/bin/bpmflow-worker) $(if $(CLI_SRC),$(BUILD)/bin/bpmflow) \
        $(if $(CONF_SRC),$(BUILD)/bin/bpmflow-conformance)

all: $(LIB_A) $(LIB_SO) $(BINS) ## Build the libraries, the worker and the command line tool

# A change of flags rebuilds: the file changes only when its text does.
FLAGS_TEXT = $(CC) $(CPPFLAGS_ALL) $(filter-out $(WARN),$(CFLAGS_ALL)) $(OPT_WORKFLOW) $(LDFLAGS_ALL)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_TEXT)' | cmp -s - $@ || echo '$(FLAGS_TEXT)' >$@
FORCE:

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CC    $<")
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

$(BUILD)/obj/lib/%.o: private OPT := $(OPT_LIB)
$(BUILD)/obj/lib/workflow/%.o: private OPT := $(OPT_WORKFLOW)

# The texts of the migrations are built in.
$(BUILD)/obj/lib/store/migrations.o: $(wildcard sql/*.sql)

# A library is made anew when the list of its objects has changed, too.  None leaves a name
# open that it does not link (sanitizers bring theirs later).
define library
$(BUILD)/lib/lib$(1).list: FORCE
	@mkdir -p $$(@D)
	@echo '$(call lib_src,$(1))' | cmp -s - $$@ || echo '$(call lib_src,$(1))' >$$@

$(BUILD)/lib/lib$(1).a: $(patsubst %.c,$(BUILD)/obj/%.o,$(call lib_src,$(1))) $(BUILD)/lib/lib$(1).list
	$$(Q)rm -f $$@ && $$(AR) rcsD $$@ $$(filter %.o,$$^)

$(BUILD)/lib/lib$(1).so: $(patsubst %.c,$(BUILD)/obj/%.o,$(call lib_src,$(1))) $(if $(filter bpmflow,$(1)),,$(CORE_SO)) $(BUILD)/lib/lib$(1).list
	$$(Q)$$(CC) $$(CFLAGS_ALL) $$(LDFLAGS_ALL) -shared -Wl,-soname,lib$(1).so.$(SO_MAJOR) \
	  $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $$@ $$(filter %.o %.so,$$^) \
	  $$(call pkg_libs,$$(DEPS_$(1))) -lm
	$$(Q)ln -sf lib$(1).so $$@.$(SO_MAJOR)
endef
$(foreach l,$(LIBRARIES),$(eval $(call library,$(l))))

# Links a program from its objects and libraries: $(call link,libraries)
define link
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(1)
endef

# Components that are linked into the worker (make COMPONENTS="pay.c stock.c"): each one's
# bf_component_library has the name of its file.
COMPONENTS ?=
linked_name = bf_component_$(basename $(notdir $(1)))
LINKED_OBJ := $(foreach c,$(COMPONENTS),$(BUILD)/obj/linked/$(basename $(notdir $(c))).o)
LINKED_LIST := $(foreach c,$(COMPONENTS),X($(call linked_name,$(c))))
define linked_rule
$(BUILD)/obj/linked/$(basename $(notdir $(1))).o: $(1) $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -DBF_COMPONENT_LIBRARY=$(call linked_name,$(1)) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) -c $$< -o $$@
endef
$(foreach c,$(COMPONENTS),$(eval $(call linked_rule,$(c))))
$(BUILD)/linked: FORCE
	@mkdir -p $(@D)
	@echo '$(LINKED_LIST)' | cmp -s - $@ || echo '$(LINKED_LIST)' >$@
$(BUILD)/obj/worker/plugins.o: $(BUILD)/linked
$(BUILD)/obj/worker/plugins.o: CPPFLAGS_ALL += $(if $(COMPONENTS),'-DBF_LINKED_COMPONENTS=$(LINKED_LIST)')

$(BUILD)/bin/bpmflow-worker: $(WORKER_SRC:%.c=$(BUILD)/obj/%.o) $(LINKED_OBJ) $(LIB_A)
	$(call link,-rdynamic $(DEPS_LIBS))

$(BUILD)/bin/bpmflow: $(patsubst %.c,$(BUILD)/obj/%.o,$(CLI_SRC) $(CLI_SHARED)) $(LIB_A)
	$(call link,$(DEPS_LIBS))

$(BUILD)/bin/bpmflow-conformance: $(CONF_SRC:%.c=$(BUILD)/obj/%.o) $(CORE_A)
	$(call link,$(call pkg_libs,$(DEPS_bpmflow)) -lm)

# --- everything else: tests, checks of the source text, installation
include tests/tests.mk
include tests/lint/lint.mk
include deploy/install.mk

.SECONDARY:
.PHONY: all help deps clean distclean demo FORCE

deps: ## Install the Debian packages that the build needs (says which; sudo where not root)
	@deploy/stack/install build

demo: ## Show a leave request live: installs, builds, runs, stops (KAFKA=real: on Apache Kafka)
	@KAFKA='$(KAFKA)' deploy/demo/demo

help: ## This list
	@echo "bpmflow $(VERSION): make TARGET [SAN=address,undefined] [DEBUG=1] [WERROR=1] [BUILD=folder]"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

clean: ## Remove what was built (running services and downloads stay)
	rm -rf $(BUILD)/obj $(BUILD)/lib $(BUILD)/bin $(BUILD)/tests $(BUILD)/results $(BUILD)/flags
	rm -rf build-address-undefined build-thread build-debug build-faults build-fuzz \
	       build-coverage build-clang build-oom build-valgrind

distclean: clean ## Also stop this folder's services and remove their data and the downloads
	-deploy/stack/stack wipe
	rm -rf build compile_commands.json

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
