# install.mk - installation and source archives

PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
datadir ?= $(PREFIX)/share
unitdir ?= $(PREFIX)/lib/systemd/system
DESTDIR ?=
D = $(DESTDIR)

.PHONY: install uninstall dist distcheck

# A folder as pkg-config files write it: below ${prefix} where it is there, so that a tree
# that was moved can be used with --define-prefix.
pc_dir = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
WHAT_bpmflow := embeddable workflow engine
WHAT_bpmflow-store := MySQL and MariaDB repository of bpmflow
WHAT_bpmflow-bus := Kafka side of bpmflow
WHAT_bpmflow-ops := log, metrics and admin port of bpmflow

# One library with its pkg-config file.
define install_library
	install -m 644 $(BUILD)/lib/lib$(1).a $(D)$(libdir)
	install -m 755 $(BUILD)/lib/lib$(1).so $(D)$(libdir)/lib$(1).so.$(VERSION)
	ln -sf lib$(1).so.$(VERSION) $(D)$(libdir)/lib$(1).so.$(SO_MAJOR)
	ln -sf lib$(1).so.$(SO_MAJOR) $(D)$(libdir)/lib$(1).so
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(call pc_dir,$(libdir))' \
	  'includedir=$(call pc_dir,$(includedir))' '' 'Name: $(1)' 'Description: $(WHAT_$(1))' \
	  'Version: $(VERSION)' $(if $(filter bpmflow,$(1)),,'Requires: bpmflow = $(VERSION)') \
	  'Requires.private: $(DEPS_$(1))' 'Libs: -L$${libdir} -l$(1)' \
	  'Libs.private: -lm -pthread' 'Cflags: -I$${includedir}' >$(D)$(libdir)/pkgconfig/$(1).pc

endef

install: all ## Install below PREFIX (DESTDIR for packagers)
	install -d $(D)$(bindir) $(D)$(libdir)/pkgconfig $(D)$(includedir)/bpmflow $(D)$(datadir)/bpmflow
	install -m 755 $(wildcard $(BUILD)/bin/bpmflow-worker $(BUILD)/bin/bpmflow) $(D)$(bindir)
	$(foreach l,$(LIBRARIES),$(call install_library,$(l)))
	install -m 644 include/bpmflow/*.h $(D)$(includedir)/bpmflow
	install -d $(D)$(unitdir)
	sed 's#/usr/bin/#$(bindir)/#' deploy/systemd/bpmflow-worker.service >$(D)$(unitdir)/bpmflow-worker.service
	chmod 644 $(D)$(unitdir)/bpmflow-worker.service
	for dir in sql config; do \
	  [ ! -d $$dir ] || (find $$dir -type f | while read -r f; do \
	    install -D -m 644 "$$f" "$(D)$(datadir)/bpmflow/$$f"; done); done

uninstall: ## Remove what install put there
	rm -f $(D)$(bindir)/bpmflow-worker $(D)$(bindir)/bpmflow
	rm -f $(foreach l,$(LIBRARIES),$(D)$(libdir)/lib$(l).a $(D)$(libdir)/lib$(l).so \
	  $(D)$(libdir)/lib$(l).so.$(SO_MAJOR) $(D)$(libdir)/lib$(l).so.$(VERSION) \
	  $(D)$(libdir)/pkgconfig/$(l).pc)
	rm -f $(D)$(unitdir)/bpmflow-worker.service
	rm -rf $(D)$(includedir)/bpmflow $(D)$(datadir)/bpmflow

dist: ## Source archive of the last commit, the same bytes wherever it is made
	@mkdir -p build
	git archive --prefix=bpmflow-$(VERSION)/ HEAD | gzip -n >build/bpmflow-$(VERSION).tar.gz
	@cd build && sha256sum bpmflow-$(VERSION).tar.gz

distcheck: dist ## Unpack the archive elsewhere, build it and run its unit tests
	@dir=$$(mktemp -d) && tar -xzf build/bpmflow-$(VERSION).tar.gz -C $$dir && \
	 $(MAKE) --no-print-directory -C $$dir/bpmflow-$(VERSION) WERROR=1 BUILD=build RESULTS= all check-unit && rm -rf $$dir
