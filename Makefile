# The list of things one can do here. Whatever needs more than a line is a
# program in tools/.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

CACHE   := $(CURDIR)/.cache
TOOLS   := $(CACHE)/bin
VERSION ?=
FUZZ    ?= 30
SEEDS   ?= 50
REAL_SEEDS ?= 5
MINUTES ?= 5
ROWS    ?= 100000000
TEST_TIMEOUT ?= 30m

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
# Modules of their own, which ./... does not reach.
MODULES := sdk/go sdk/topics/go tests/chart tests/alerts
# Those that are built for the race detector. tests/alerts runs no goroutines of its
# own and would compile Prometheus a second time; tests/chart has a goal of its own.
RACED := sdk/go sdk/topics/go
COMMANDS := ingest-edge sink query millrace
# Programs are linked without a C library. Only the race detector needs cgo; what a
# test builds itself has it as everything else, so that all share one cache.
export CGO_ENABLED := 0
RACE := -race -exec 'env CGO_ENABLED=0'
# A release is built without this machine's paths; without VERSION the cache of
# `go test` and `go run` serves the build too.
BUILD_FLAGS := $(if $(VERSION),-trimpath -ldflags '-X github.com/millrace/millrace/internal/buildinfo.version=$(VERSION)')

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: build clickhouse ## Build everything and run it all in one process, data in ./data
	@exec bin/millrace standalone

.PHONY: build
build: ## Build the daemons and the millrace command into bin/ (VERSION=v1.2.3 for a release)
	@echo '… building (minutes the first time, seconds later)'
	@mkdir -p bin
	@$(if $(VERSION),go run ./tools/tracker -kept)
	@go build $(BUILD_FLAGS) -o bin/ $(addprefix ./cmd/,$(COMMANDS))

.PHONY: release
release: clickhouse ## Make archives, images, chart, SBOM and checksums of VERSION in dist/ (PLATFORMS=…, IMAGES=…, GLIBC_BASE=…)
	@go run ./tools/release -version '$(VERSION)' $(if $(PLATFORMS),-platforms $(PLATFORMS)) $(if $(IMAGES),-images $(IMAGES)) $(if $(GLIBC_BASE),-glibc-base $(GLIBC_BASE))

.PHONY: clickhouse
clickhouse: ## Fetch the embedded ClickHouse into .cache, unless it is there
	@go run ./tools/clickhouse

.PHONY: kubeapi
kubeapi: ## Build Kubernetes' API server into .cache and install etcd, unless they are there
	@go run ./tools/services -prepare kubernetes

.PHONY: services
services: ## Start real Kafka, PostgreSQL and Redis on loopback until Ctrl-C
	@go run ./tools/services

# Faults, and what is promised in seconds, run one after the other and as fast as
# production would: the race detector would make them three times as long, and it has
# seen the same code in the packages before. PROMISES are tests of tests/e2e, which as
# a whole runs there too.
TIMED := tests/fault tests/control tests/quota
PROMISES := WithinThreeSeconds|RefusedInTime
# Every stage runs, whatever the ones before it found, so that one run tells all.
.PHONY: test
test: clickhouse kubeapi ## Run every test, also against real Kafka, PostgreSQL and Redis
	@failed=; \
	CGO_ENABLED=1 go test $(RACE) -shuffle=on -timeout $(TEST_TIMEOUT) $$(go list ./... | grep -v $(TIMED:%=-e '/%$$')) || failed+=' packages'; \
	go test -p 1 -shuffle=on -timeout $(TEST_TIMEOUT) $(TIMED:%=./%) || failed+=' $(TIMED)'; \
	go test -shuffle=on -timeout $(TEST_TIMEOUT) ./tests/e2e -run '$(PROMISES)' || failed+=' tests/e2e'; \
	for m in $(RACED); do CGO_ENABLED=1 go test -C $$m $(RACE) -shuffle=on ./... || failed+=" $$m"; done; \
	go test -C tests/alerts -shuffle=on ./... || failed+=' tests/alerts'; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

.PHONY: test-chart
test-chart: kubeapi ## Render the Helm chart, check what it renders, and install, upgrade and remove it in a real API server
	@go test -C tests/chart -count=1 ./...

.PHONY: test-short
test-short: ## Run the tests that need no network and no services
	@go test -short ./...
	@for m in $(MODULES); do go test -C $$m -short ./...; done

.PHONY: test-fuzz
test-fuzz: ## Run each fuzz target for FUZZ seconds (30)
	@go run ./tools/fuzz -seconds $(FUZZ)

.PHONY: fault
fault: clickhouse ## Run SEEDS (50) of every fault, REAL_SEEDS (5) of them on real Kafka; writes docs/benchmarks/fault.md
	@go test -count=1 -timeout 6h ./tests/fault -seeds $(SEEDS) -real-seeds $(REAL_SEEDS) -report $(CURDIR)/docs/benchmarks/fault.md

.PHONY: oracle
oracle: clickhouse ## Ask every query type of SEEDS (50) random sets of events, and compare with plain Go
	@go test -count=1 -timeout 6h ./internal/analytics/analyticstest -run '^TestEveryTypeAgreesWithTheOracleOnRandomSets$$' -seeds $(SEEDS)

.PHONY: soak
soak: clickhouse ## Strike a pipeline under load with random faults for MINUTES (5); writes docs/benchmarks/soak.md
	@go test -count=1 -v -timeout 24h ./tests/fault -run '^TestSoak$$' -soak $(MINUTES)m -soak-report $(CURDIR)/docs/benchmarks/soak.md

.PHONY: bench
bench: clickhouse ## Measure the paths against their limits; writes docs/benchmarks
	@go run ./bench $(if $(DATA),-data $(DATA))

.PHONY: bench-data
bench-data: clickhouse ## Fill DATA (.cache/bench/data) with ROWS (100000000) of a year; goes on where it was stopped
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
	@for m in $(MODULES); do (cd $$m && $(GOLANGCI) run ./...); done

.PHONY: generate
generate: ## Write the reference pages, the chart's README and schema, the AsyncAPI document, the types, dashboards, objectives, the tracker and the lists of dependencies
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
	@go test ./internal/enrich -run TestWhichOfTheListsExamplesAreBots -update

.PHONY: generate-check
generate-check: ## Fail if something generated is out of date
	@go run ./tools/docgen -check
	@go run ./tools/chartdoc -check
	@go run ./tools/topicgen -check
	@go run ./tools/rules -check
	@go run ./tools/dashboards -check
	@go run ./tools/deps -check
	@go run ./tools/tracker -check

.PHONY: secrets
secrets: ## Fail if a file holds something that looks like a secret
	@go run ./tools/secrets

.PHONY: keep-tracker
keep-tracker: ## Keep the built tracker for pages that name its version; part of every release
	@go run ./tools/tracker -keep

.PHONY: archtest
archtest: ## Check who imports whom
	@go test -count=1 ./internal/archtest

.PHONY: ci
ci: fmt-check vet lint generate-check secrets archtest test test-chart ## Everything that must pass before a merge

.PHONY: clean
clean: ## Remove what was built and fetched; ./data stays
	@rm -rf bin dist $(CACHE)

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION)'
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@
