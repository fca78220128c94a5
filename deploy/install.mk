# install.mk - installation and source archives

PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
datadir ?= $(PREFIX)/share
DESTDIR ?=
D = $(DESTDIR)

.PHONY: install uninstall dist distcheck

install: all ## Install below PREFIX (DESTDIR for packagers)
	install -d $(D)$(bindir) $(D)$(libdir)/pkgconfig $(D)$(includedir)/bpmflow $(D)$(datadir)/bpmflow
	install -m 755 $(wildcard $(BUILD)/bin/bpmflow-worker $(BUILD)/bin/bpmflow) $(D)$(bindir)
	install -m 644 $(LIB_A) $(D)$(libdir)
	install -m 755 $(LIB_SO) $(D)$(libdir)/libbpmflow.so.$(VERSION)
	ln -sf libbpmflow.so.$(VERSION) $(D)$(libdir)/$(SONAME)
	ln -sf $(SONAME) $(D)$(libdir)/libbpmflow.so
	install -m 644 include/bpmflow/*.h $(D)$(includedir)/bpmflow
	for dir in sql config; do \
	  [ ! -d $$dir ] || (find $$dir -type f | while read -r f; do \
	    install -D -m 644 "$$f" "$(D)$(datadir)/bpmflow/$$f"; done); done
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(libdir)' 'includedir=$(includedir)' '' \
	  'Name: bpmflow' 'Description: workflow engine and worker library' 'Version: $(VERSION)' \
	  'Requires.private: $(DEPS_ALL)' 'Libs: -L$${libdir} -lbpmflow' 'Libs.private: -lm -pthread' \
	  'Cflags: -I$${includedir}' >$(D)$(libdir)/pkgconfig/bpmflow.pc

uninstall: ## Remove what install put there
	rm -f $(D)$(bindir)/bpmflow-worker $(D)$(bindir)/bpmflow $(D)$(libdir)/libbpmflow.a \
	      $(D)$(libdir)/libbpmflow.so* $(D)$(libdir)/pkgconfig/bpmflow.pc
	rm -rf $(D)$(includedir)/bpmflow $(D)$(datadir)/bpmflow

dist: ## Source archive of the last commit, the same bytes wherever it is made
	@mkdir -p build
	git archive --prefix=bpmflow-$(VERSION)/ HEAD | gzip -n >build/bpmflow-$(VERSION).tar.gz
	@cd build && sha256sum bpmflow-$(VERSION).tar.gz

distcheck: dist ## Unpack the archive elsewhere, build it and run its unit tests
	@dir=$$(mktemp -d) && tar -xzf build/bpmflow-$(VERSION).tar.gz -C $$dir && \
	 $(MAKE) --no-print-directory -C $$dir/bpmflow-$(VERSION) WERROR=1 BUILD=build RESULTS= all check-unit && rm -rf $$dir
