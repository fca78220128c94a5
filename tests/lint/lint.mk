# lint.mk - checks of the source text

CLANG_FORMAT ?= clang-format
CPPCHECK ?= cppcheck
# The analyzer's limit for each function: deep enough to find what is near, and three times
# as fast as clang's default of 225000.
TIDY_NODES ?= 30000

.PHONY: lint format format-check tidy cppcheck layer-check header-check symbol-check text-check \
        settings-check settings-doc

format: ## Format all C files (clang-format 14)
	@$(CLANG_FORMAT) -i $(ALL_C) $(ALL_HEADERS)

format-check: ## Fail where a C file is not formatted
	@$(CLANG_FORMAT) --version | grep -q ' 14\.' || echo "note: the format is that of clang-format 14"
	@$(CLANG_FORMAT) --dry-run -Werror $(ALL_C) $(ALL_HEADERS) || { echo "run: make format" >&2; exit 1; }

lint: header-check layer-check text-check symbol-check settings-check cppcheck tidy ## All checks of the source text

tidy: $(BUILD)/lint/flags ## clang-tidy, two files at a time, remembering clean ones (TIDY_NODES=225000: deeper)
	@TIDY_NODES=$(TIDY_NODES) tests/lint/tidy build/lint/tidy $< $(if $(FILES),$(FILES),$(filter-out tests/canary/%,$(ALL_C)))

$(BUILD)/lint/flags: FORCE
	@mkdir -p $(@D)
	@echo '-std=gnu11 -D_GNU_SOURCE -Iinclude -I. $(DEPS_CFLAGS) $(call pkg_cflags,criterion)' >$@

# ctuuninitvar: it does not see what an init function fills. memleak: it loses blocks that move into a compound literal; clang's analyzer and the
# leak sanitizer look for leaks.
cppcheck: ## cppcheck on the product (not on tests: Criterion's macros confuse it)
	@mkdir -p $(BUILD)/lint/cppcheck
	@$(CPPCHECK) -q -j $(JOBS) --cppcheck-build-dir=$(BUILD)/lint/cppcheck --std=c11 --inline-suppr \
	 --enable=warning,performance,portability --error-exitcode=1 --library=posix \
	 --suppress=missingIncludeSystem --suppress=memleak --suppress=ctuuninitvar -D_GNU_SOURCE -Iinclude -I. \
	 $(LIB_SRC) $(WORKER_SRC) $(CLI_SRC) $(sort $(wildcard deploy/*/*.c))

layer-check: ## Include direction between the layers
	@tests/lint/layers

header-check: ## Each public header alone, twice, as strict C11
	@tests/lint/headers $(DEPS_CFLAGS)

symbol-check: $(LIB_A) $(LIB_SO) ## Every global name of the libraries starts with bf_
	@tests/lint/symbols $(LIB_A) $(LIB_SO)

text-check: ## Banned functions, file length, SPDX lines, links, the table of rules
	@tests/lint/text
	@tests/lint/links
	@tests/lint/rules

settings-check: all ## README and sample configuration agree with the worker's settings
	@[ ! -x $(BUILD)/bin/bpmflow-worker ] || tests/lint/settings $(BUILD)/bin/bpmflow-worker

settings-doc: all ## Write the settings into README.md and the sample configuration
	@tests/lint/settings $(BUILD)/bin/bpmflow-worker --write

compile_commands.json: FORCE ## For editors: how each file is compiled
	@{ echo '['; sep=; for f in $(ALL_C); do \
	   printf '%s{"directory":"%s","file":"%s","command":"%s"}\n' "$$sep" '$(CURDIR)' "$$f" \
	     "cc $(subst ",\",$(CPPFLAGS_ALL) $(CFLAGS_ALL)) -c $$f"; sep=,; done; echo ']'; } >$@
