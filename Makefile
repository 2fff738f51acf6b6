# The list of things one can do here. Whatever needs more than a line is a
# program in tools/.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

# What is fetched and built once for all checkouts of this user (docs/guides/running-the-tests.md).
ifeq ($(shell uname),Darwin)
export MILLRACE_CACHE ?= $(HOME)/Library/Caches/millrace
else
export MILLRACE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/millrace
endif
TOOLS   := $(MILLRACE_CACHE)/bin
VERSION ?=
FUZZ    ?= 30
SEEDS   ?= 50
REAL_SEEDS ?= 5
MINUTES ?= 5
ROWS    ?= 100000000
ONLY    ?=
PACKAGES ?=
TIMES   ?= 1
# Not empty: also run packages that passed with the same inputs.
ALL     ?=
# A command that runs beside the tests, at a lower priority.
BESIDE  ?=

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM := $(TOOLS)/gotestsum-$(GOTESTSUM_VERSION)
VALE_VERSION := v3.22.0
VALE := $(TOOLS)/vale-$(VALE_VERSION)
# Modules of their own, which ./... does not reach.
MODULES := sdk/go sdk/topics/go tests/contract/chart tests/contract/alerts
# Names what go.sum lists: whether everything that tests import was fetched.
MODULES_FETCHED = $(MILLRACE_CACHE)/modules/$(shell cat go.sum $(wildcard $(MODULES:%=%/go.sum)) | cksum | cut -d' ' -f1)
COMMANDS := ingest-edge sink query millrace
# Programs are linked without a C library; only the race detector and Vale need cgo. Without
# the paths of this machine, all checkouts share what the compiler has cached. Without what
# only debuggers read, compiling takes a sixth less; GOFLAGS=-gcflags=all= keeps it.
export CGO_ENABLED := 0
OUR_FLAGS := -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(strip $(OUR_FLAGS) $(filter-out $(OUR_FLAGS),$(shell go env GOFLAGS)))
# How what Kubernetes' API server and tests/contract/chart share is compiled once
# (testkit.Unoptimized).
UNOPTIMIZED := GOFLAGS='-trimpath -buildvcs=false "-gcflags=all=-N -l -dwarf=false"'
BUILDINFO := github.com/millrace/millrace/internal/platform/buildinfo
BUILD_FLAGS := $(if $(VERSION),-ldflags '-X $(BUILDINFO).version=$(VERSION)')

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: build clickhouse ## Build and run the whole product in one process, with its data in ./data
	@exec bin/millrace standalone

.PHONY: build
build: ## Build the daemons and the millrace command into bin/ (VERSION=v1.2.3 for a release)
	@echo '… building (minutes the first time, seconds later)'
	@mkdir -p bin
	@$(if $(VERSION),go run ./tools/tracker -kept)
	@go build $(BUILD_FLAGS) -o bin/ $(addprefix ./cmd/,$(COMMANDS))

.PHONY: release
release: clickhouse ## Build the archives, images, chart, SBOM and checksums of VERSION in dist/ (PLATFORMS=…, IMAGES=…, GLIBC_BASE=…)
	@go run ./tools/release -version '$(VERSION)' $(if $(PLATFORMS),-platforms $(PLATFORMS)) $(if $(IMAGES),-images $(IMAGES)) $(if $(GLIBC_BASE),-glibc-base $(GLIBC_BASE))

.PHONY: clickhouse
clickhouse: ## Fetch the embedded ClickHouse if it is missing
	@go run ./tools/clickhouse

# At once: some wait for the network while others compile. First comes what all of them
# would compile side by side, each for itself, on a new machine: the standard library.
.PHONY: prepare
prepare: ## Fetch, install and build what checks and tests need, if it is missing
	@go list -export -deps ./tools/clickhouse ./tools/npm/fetch ./tools/services >/dev/null
	@$(MAKE) --no-print-directory -j5 prepared

.PHONY: prepared
prepared: clickhouse prepare-packages prepare-services $(MODULES_FETCHED) $(GOTESTSUM) $(GOLANGCI) $(VALE)

.PHONY: prepare-packages
prepare-packages:
	@go run ./tools/npm/fetch

.PHONY: prepare-services
prepare-services:
	@go run ./tools/services -prepare

.PHONY: services
services: ## Start real Kafka, PostgreSQL and Redis on loopback until Ctrl-C
	@go run ./tools/services

.PHONY: test
test: prepare ## Run every test whose inputs changed, including those with real Kafka, PostgreSQL and Redis (ALL=1, ONLY=stage, PACKAGES=…,…, TIMES=…)
	@go run ./tools/suite -gotestsum $(GOTESTSUM) $(if $(ALL),-all) -only '$(ONLY)' -packages '$(PACKAGES)' -times $(TIMES) -beside '$(BESIDE)'

.PHONY: test-full
test-full: prepare ## Run all tests three times with strict time limits, and almost all of them with the race detector (ONLY=…, PACKAGES=…)
	@go run ./tools/suite -gotestsum $(GOTESTSUM) -full -only '$(ONLY)' -packages '$(PACKAGES)'

.PHONY: test-chart
test-chart: prepare ## Render and check the Helm chart, then install, upgrade and remove it in a real API server
	@$(UNOPTIMIZED) go test -C tests/contract/chart -count=1 ./...

.PHONY: test-short
test-short: ## Run the tests that need no network and no services
	@go test -short ./...
	@for m in $(MODULES); do go test -C $$m -short ./...; done

.PHONY: test-fuzz
test-fuzz: ## Run each fuzz target for FUZZ seconds (30)
	@go run ./tools/fuzz -seconds $(FUZZ)

.PHONY: fault
fault: clickhouse ## Run every fault with SEEDS (50) seeds, REAL_SEEDS (5) of them on real Kafka; writes docs/benchmarks/fault.md
	@MILLRACE_TEST_SLACK=1 go test -count=1 -timeout 6h ./tests/fault -seeds $(SEEDS) -real-seeds $(REAL_SEEDS) -report $(CURDIR)/docs/benchmarks/fault.md

.PHONY: oracle
oracle: SEEDS := 100
oracle: clickhouse ## Run every query type on SEEDS (100) random sets of events and compare the results with plain Go
	@go test -count=1 -timeout 6h ./internal/analytics/analyticstest -run '^TestEveryTypeAgreesWithTheOracleOnRandomSets$$' -seeds $(SEEDS)

.PHONY: soak
soak: clickhouse ## Inject random faults into a pipeline under load for MINUTES (5); writes docs/benchmarks/soak.md
	@MILLRACE_TEST_SLACK=1 go test -count=1 -v -timeout 24h ./tests/fault -run '^TestSoak$$' -soak $(MINUTES)m -soak-report $(CURDIR)/docs/benchmarks/soak.md

.PHONY: soak-hostile
soak-hostile: MINUTES := 10
soak-hostile: clickhouse ## Send the records that need the most memory to a sink with 512 MB for MINUTES (10); writes docs/benchmarks/soak-hostile.md
	@MILLRACE_TEST_SLACK=1 go test -count=1 -v -timeout 24h ./tests/fault -run '^TestHostileSoak$$' -hostile $(MINUTES)m -soak-report $(CURDIR)/docs/benchmarks/soak-hostile.md

.PHONY: bench
bench: clickhouse ## Measure each path against its limit; writes docs/benchmarks
	@go run ./bench $(if $(DATA),-data $(DATA))

.PHONY: bench-data
bench-data: clickhouse ## Fill DATA (.cache/bench/data) with ROWS (100000000) rows of one year; resumes after a stop
	@go run ./bench -fill -data-rows $(ROWS) $(if $(DATA),-data $(DATA))

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code (gofumpt, import order)
	@$(GOLANGCI) fmt ./...

.PHONY: fmt-check
fmt-check: $(GOLANGCI) ## Fail if the code is not formatted
	@diff=$$($(GOLANGCI) fmt --diff ./...) && test -z "$$diff" || { echo "$$diff"; echo 'not formatted: run make fmt'; exit 1; }

.PHONY: vet
vet: ## Run go vet
	@go vet ./...
	@for m in $(MODULES); do go vet -C $$m ./...; done

.PHONY: lint
lint: $(GOLANGCI) ## Run golangci-lint
	@$(GOLANGCI) run ./...
	@for m in $(filter-out tests/contract/chart,$(MODULES)); do (cd $$m && $(GOLANGCI) run ./...); done
	@cd tests/contract/chart && $(UNOPTIMIZED) $(GOLANGCI) run ./...

.PHONY: voice
voice: $(VALE) ## Check the language of documents and product texts (.vale)
	@go run ./tools/texts | go run ./tools/voice -vale $(VALE)

.PHONY: voice-baseline
voice-baseline: $(VALE) ## Lower the findings that make voice allows to the current numbers
	@go run ./tools/texts | go run ./tools/voice -vale $(VALE) -lower

.PHONY: generate
generate: ## Generate reference pages, chart README and schema, AsyncAPI document, types, dashboards, objectives, tracker and dependency lists
	@go run ./tools/enrichdata
	@go run ./tools/docgen
	@go run ./tools/topicgen
	@go run ./tools/rules
	@go run ./tools/dashboards
	@go run ./tools/chartdoc
	@go run ./tools/deps
	@go run ./tools/tracker

.PHONY: refresh
refresh: ## Fetch the latest lists of crawlers and countries from npm (docs/guides/enrichment.md)
	@go run ./tools/enrichdata -refresh -latest
	@go test ./internal/pipeline/enrich -run TestWhichOfTheListsExamplesAreBots -update

.PHONY: generate-check
generate-check: generate-check-rest ## Fail if a generated file is out of date
	@go run ./tools/docgen -check
	@go run ./tools/chartdoc -check
	@go run ./tools/topicgen -check
	@go run ./tools/deps -check
	@go run ./tools/tracker -check

# What no test compares with its source; tests do the same for all else.
.PHONY: generate-check-rest
generate-check-rest:
	@go run ./tools/rules -check
	@go run ./tools/dashboards -check

.PHONY: secrets
secrets: ## Fail if a file contains a likely secret
	@go run ./tools/secrets

.PHONY: keep-tracker
keep-tracker: ## Add the built tracker to the versions that stay available; part of every release
	@go run ./tools/tracker -keep

.PHONY: archtest
archtest: ## Check the imports between packages
	@go test -count=1 ./internal/archtest

.PHONY: ci
ci: BESIDE := $(MAKE) --no-print-directory checks
ci: test ## Run everything that must pass before a merge: tests and checks

.PHONY: checks
checks: fmt-check lint voice generate-check-rest secrets ## Run the checks: format, linters, language, generated files, secrets

.PHONY: clean
clean: ## Remove build results; ./data and the user cache stay
	@rm -rf bin dist .cache

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION)'
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION),golangci-lint)

$(GOTESTSUM):
	@echo 'building gotestsum $(GOTESTSUM_VERSION)'
	@$(call install,gotest.tools/gotestsum@$(GOTESTSUM_VERSION),gotestsum)

# Parts of Vale are written in C.
$(VALE):
	@echo 'building Vale $(VALE_VERSION)'
	@export CGO_ENABLED=1 CGO_CFLAGS=-w; $(call install,github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION),vale)

$(MODULES_FETCHED):
	@go list -deps -test ./... >/dev/null && for m in $(MODULES); do go list -C $$m -deps -test ./... >/dev/null; done
	@mkdir -p $(@D) && touch $@

# $(call install,MODULE@VERSION,PROGRAM) builds a program beside its target and then puts
# it there, so that several who build it at once do no harm.
install = mkdir -p $(TOOLS) && part=$$(mktemp -d $@.XXXXXX) && GOBIN=$$part go install -ldflags='-s -w' $(1) && mv $$part/$(2) $@ && rmdir $$part
