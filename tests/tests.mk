# tests.mk - test programs and the targets that run them
#
# Each tests/<level>/test_*.c is one program; tests/support/*.c is linked into the unit and
# component tests.  Alone and by name: make check-unit TEST=test_expr FILTER='expr/*'

TEST ?=
export FILTER ?=
export STACK_DIR ?= $(CURDIR)/build/stack
export STACK_CACHE ?= $(CURDIR)/build/cache
export RESULTS ?= $(CURDIR)/$(BUILD)/results

# c11_threads.c is for the thread tests alone, and they take nothing else from there.
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/c11_threads.c,$(sort $(wildcard tests/support/*.c))))
# The programs of a level, or those that TEST names: $(call programs,level,prefix)
programs = $(foreach t,$(sort $(wildcard tests/$(1)/$(2)_*.c)),$(if \
             $(TEST),$(if $(filter $(TEST),$(basename $(notdir $(t)))),$(BUILD)/$(t:.c=)),$(BUILD)/$(t:.c=)))
UNIT_TESTS := $(call programs,unit,test)
COMPONENT_TESTS := $(call programs,component,test)
THREAD_TESTS := $(call programs,threads,test)
OOM_TESTS := $(call programs,oom,test)
FUZZ_TESTS := $(call programs,fuzz,fuzz)
BENCH_SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/bench/support/*.c)))
BENCH_C := $(sort $(wildcard tests/bench/*.c))
SYSTEM_C := $(sort $(wildcard tests/system/*.c))
TEST_TOOLS := $(BENCH_C:%.c=$(BUILD)/%) $(SYSTEM_C:%.c=$(BUILD)/%)

# The worker without its main(), for tests of its parts.
WORKER_A := $(if $(WORKER_SRC),$(BUILD)/lib/libbpmflow-worker.a)
$(BUILD)/lib/libbpmflow-worker.a: $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out worker/main.c,$(WORKER_SRC)))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(SUPPORT_OBJ) $(WORKER_A) $(LIB_A)
	$(call link,$(LIBS_TEST))

# A locale with a decimal comma, wherever its sources (package locales) are.
COMMA_LOCALE := build/tests/locale/de_DE.UTF-8
$(COMMA_LOCALE):
	@mkdir -p $(@D)
	$(Q)! [ -e /usr/share/i18n/locales/de_DE ] || localedef -i de_DE -f UTF-8 $@
$(BUILD)/tests/unit/test_num: | $(COMMA_LOCALE)

$(BUILD)/tests/component/%: $(BUILD)/obj/tests/component/%.o $(SUPPORT_OBJ) $(WORKER_A) $(LIB_A)
	$(call link,$(LIBS_TEST))

$(BUILD)/tests/threads/%: $(BUILD)/obj/tests/threads/%.o $(BUILD)/obj/tests/support/c11_threads.o $(WORKER_A) $(LIB_A)
	$(call link,$(DEPS_LIBS))

$(BUILD)/tests/bench/%: $(BUILD)/obj/tests/bench/%.o $(BENCH_SUPPORT_OBJ) $(LIB_A)
	$(call link,$(DEPS_LIBS))

$(BUILD)/tests/system/%: $(BUILD)/obj/tests/system/%.o
	$(call link,$(DEPS_LIBS))

$(BUILD)/tests/canary/oom: $(BUILD)/obj/tests/canary/oom.o $(BUILD)/obj/tests/oom/oom.o $(LIB_A)
	$(call link,$(OOM_WRAP) $(DEPS_LIBS))

$(BUILD)/tests/canary/race: $(BUILD)/obj/tests/canary/race.o
	$(call link)

$(BUILD)/tests/canary/%: $(BUILD)/obj/tests/canary/%.o
	$(call link,$(LIBS_TEST))

# The sweep wraps allocation at link time; -fno-builtin keeps the compiler from turning
# one allocation function into another behind its back.
OOM_WRAP := $(foreach f,malloc calloc realloc reallocarray aligned_alloc strdup strndup \
              vasprintf asprintf,-Wl,--wrap=$(f))
$(BUILD)/tests/oom/%: $(BUILD)/obj/tests/oom/%.o $(BUILD)/obj/tests/oom/oom.o $(BUILD)/obj/tests/oom/commands.o $(LIB_A)
	$(call link,$(OOM_WRAP) $(DEPS_LIBS))

CONF_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/main.c,$(sort $(wildcard tests/conformance/*.c))))
$(BUILD)/tests/fuzz/fuzz_conformance: $(BUILD)/obj/tests/fuzz/fuzz_conformance.o $(BUILD)/obj/tests/fuzz/replay.o $(CONF_OBJ) $(LIB_A)
	$(call link,$(DEPS_LIBS))
$(BUILD)/fuzz/fuzz_conformance: $(BUILD)/obj/tests/fuzz/fuzz_conformance.o $(CONF_OBJ) $(LIB_A)
	$(call link,-fsanitize=fuzzer $(DEPS_LIBS))
$(BUILD)/tests/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/obj/tests/fuzz/replay.o $(LIB_A)
	$(call link,$(DEPS_LIBS))

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIB_A)
	$(call link,-fsanitize=fuzzer $(DEPS_LIBS))

.PHONY: test programs check-unit check-component check-mysql check-system check-owners soak check-soak check-san check-threads \
        check-oom check-valgrind check-conformance check-install check-mysqlclient fuzz fuzz-corpus fuzz-replay coverage \
        until-fail bench-engine bench-large bench-peers bench-pipeline bench-store san-run threads-run oom-run fuzz-run fuzz-corpus-run fuzz-replay-run

programs: all $(UNIT_TESTS) $(COMPONENT_TESTS) $(TEST_TOOLS) ## Build the test programs, run none

test: ## Everything that CI runs: installs, builds, checks, all tests on real services
	@deploy/stack/install all
	@+MAKE='$(MAKE)' tests/run/all

check-unit: $(UNIT_TESTS) ## Unit tests, no services (TEST=test_expr FILTER='suite/pattern')
	@tests/run/programs unit $^

# The sample, by its own Makefile from an installed tree, and two libraries with a fault.
SAMPLE_DIR := $(BUILD)/samples
SAMPLES := $(foreach s,sample other_abi no_library,$(SAMPLE_DIR)/lib$(s).so)
$(SAMPLES) &: deploy/samples/component/sample.c deploy/samples/component/Makefile \
              $(wildcard tests/data/components/*.c) include/bpmflow/component.h | all
	$(Q)rm -rf $(SAMPLE_DIR)
	$(Q)$(MAKE) --no-print-directory -s DESTDIR=$(abspath $(SAMPLE_DIR)/tree) PREFIX=/usr install
	$(Q)$(MAKE) --no-print-directory -s -C deploy/samples/component OUT=$(abspath $(SAMPLE_DIR)) \
	  CFLAGS= CFLAGS_BPMFLOW=-I$(abspath $(SAMPLE_DIR)/tree/usr/include)
	$(Q)for name in other_abi no_library; do \
	  $(CC) -std=c11 -fPIC -shared -I$(SAMPLE_DIR)/tree/usr/include \
	    -o $(SAMPLE_DIR)/lib$$name.so tests/data/components/$$name.c || exit 1; done

COMPONENT_SERVICES ?= mariadb kafka
check-component: all $(SAMPLES) $(COMPONENT_TESTS) ## Component tests on a private MariaDB and Kafka
	@tests/run/with-stack component $(COMPONENT_SERVICES) -- tests/run/programs --jobs 1 --timeout 600 component $(COMPONENT_TESTS)

# Component tests that depend on nothing but the database.
STORE_TESTS := $(foreach name,store db migrate mysql,$(filter $(BUILD)/tests/component/test_$(name)%,$(COMPONENT_TESTS)))
check-mysql: all $(STORE_TESTS) ## The store's component tests once more, on Oracle MySQL
	@tests/run/with-stack --mysql-for-mariadb mysql mysql -- tests/run/programs --jobs 1 --timeout 600 mysql $(STORE_TESTS)

check-system: all $(TEST_TOOLS) ## System tests: worker processes on real Kafka, MariaDB and MySQL (TEST=name)
	@$(MAKE) --no-print-directory FAULTS=1 all
	@tests/system/run $(TEST)

check-owners: all $(TEST_TOOLS) ## The system tests that take long; not in make test
	@$(MAKE) --no-print-directory FAULTS=1 all
	@tests/system/run long

soak: all ## Kill, stop and cut everything under load, then count (KILLS=200 SEED=1 MINUTES=..)
	@tests/soak/run

check-soak: all ## A short soak test: 20 faults
	@KILLS=$(or $(KILLS),20) GAP=$(or $(GAP),2.5) MINUTES=$(or $(MINUTES),2) tests/soak/run

check-san: ## All unit and component tests with ASan and UBSan; a leak is a failure too
	@$(MAKE) --no-print-directory SAN=address,undefined WERROR= san-run
san-run: all $(SAMPLES) $(UNIT_TESTS) $(COMPONENT_TESTS) $(addprefix $(BUILD)/tests/canary/,leak undefined overflow)
	@tests/run/canaries san $(addprefix $(BUILD)/tests/canary/,leak undefined overflow)
	@rc=0; tests/run/programs --asan san-unit $(UNIT_TESTS) || rc=1; \
	 tests/run/with-stack san-component $(COMPONENT_SERVICES) -- tests/run/programs --asan --jobs 1 --timeout 900 san-component $(COMPONENT_TESTS) || rc=1; \
	 exit $$rc

check-threads: ## The thread tests with ThreadSanitizer
	@$(MAKE) --no-print-directory SAN=thread WERROR= threads-run
threads-run: $(THREAD_TESTS) $(BUILD)/tests/canary/race
	@tests/run/canaries threads $(BUILD)/tests/canary/race
	@tests/run/programs --plain threads $(THREAD_TESTS)

check-oom: ## Fail every single allocation of parsers and executor, with ASan
	@$(MAKE) --no-print-directory SAN=address,undefined WERROR= BUILD=build-oom CFLAGS='$(CFLAGS) -fno-builtin' oom-run
oom-run: $(OOM_TESTS) $(BUILD)/tests/canary/oom
	@tests/run/canaries oom $(BUILD)/tests/canary/oom
	@tests/run/programs --plain --asan oom $(OOM_TESTS)

check-valgrind: $(UNIT_TESTS) ## Unit tests under valgrind (slow; not part of test)
	@tests/run/programs --valgrind --timeout 1800 valgrind $^

fuzz-replay: ## Run the fuzz targets over their corpus, with ASan and UBSan
	@$(MAKE) --no-print-directory SAN=address,undefined WERROR= fuzz-replay-run
fuzz-replay-run: $(FUZZ_TESTS)
	@tests/run/programs --plain --asan fuzz-replay $(FUZZ_TESTS)

FUZZ_TIME ?= 60
fuzz: ## Fuzz each parser for FUZZ_TIME seconds with clang (TEST=fuzz_expr: only that one)
	@$(MAKE) --no-print-directory CC=clang SAN=address,undefined,fuzzer-no-link WERROR= BUILD=build-fuzz fuzz-run
fuzz-run: $(FUZZ_TESTS:$(BUILD)/tests/fuzz/%=$(BUILD)/fuzz/%)
	@tests/run/fuzz $(FUZZ_TIME) $^
fuzz-corpus: ## Take what `make fuzz` has found into tests/fuzz/corpus, as few inputs as cover the same
	@$(MAKE) --no-print-directory CC=clang SAN=address,undefined,fuzzer-no-link WERROR= BUILD=build-fuzz fuzz-corpus-run
fuzz-corpus-run: $(FUZZ_TESTS:$(BUILD)/tests/fuzz/%=$(BUILD)/fuzz/%)
	@tests/run/corpus $^

check-conformance: all ## Compare with the recorded behaviour of the original engine
	@tests/run/conformance $(BUILD)/bin/bpmflow-conformance

check-install: all ## Install into a tree of its own; the README's example and each library from there
	@MAKE='$(MAKE)' CC='$(CC)' tests/run/install $(BUILD)

check-mysqlclient: ## Build and test the store with Oracle's client library (Debian sid chroot; needs root)
	@tests/run/mysqlclient

coverage: ## Line coverage of the unit tests, per file
	@$(MAKE) --no-print-directory BUILD=build-coverage DEBUG=1 CFLAGS='$(CFLAGS) --coverage' LDFLAGS='$(LDFLAGS) --coverage' check-unit
	@tests/run/coverage build-coverage

until-fail: programs ## Run TEST=test_x again and again until it fails
	@[ -n '$(TEST)' ] || { echo "name one: make until-fail TEST=test_expr"; exit 2; }
	@n=0; while tests/run/programs until-fail $(UNIT_TESTS) $(COMPONENT_TESTS); do n=$$((n + 1)); echo "run $$n passed"; done; \
	 echo "failed after $$n good runs"

bench-pipeline: all $(TEST_TOOLS) ## Commands per second and latencies on real services, beside the floors (PART=scaling, PART=all)
	@tests/bench/pipeline $(PART:%=--part %) $(BENCH_ARGS)

bench-peers: all ## The same approvals by Flowable, Camunda and bpmflow, where Java is at hand (BENCH_PEERS=options)
	@tests/bench/peers/run $(BENCH_PEERS)

bench-engine: $(BUILD)/tests/bench/bench_engine ## Walks and approvals in memory, beside the original engine where Java is at hand
	@tests/bench/engine $<

bench-store: $(BUILD)/tests/bench/bench_store $(BUILD)/tests/bench/bench_repository ## Without Kafka: what the database allows, and the library's repository (BENCH_STORE=options)
	@BENCH_BUILD=$(abspath $(BUILD)) tests/bench/store $(BENCH_STORE)

bench-large: $(BUILD)/tests/bench/bench_large ## 10^6 instances in a cache; commands on random ones with 10^4 and 10^7 rows (BENCH_LARGE=options)
	@tests/run/with-stack bench-large mariadb -- $(BUILD)/tests/bench/bench_large $(BENCH_LARGE)
