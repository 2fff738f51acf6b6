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
TEST_TIMEOUT ?= 15m

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
COMMANDS := ingest-edge sink query millrace
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
	@go build $(BUILD_FLAGS) -o bin/ $(addprefix ./cmd/,$(COMMANDS))

.PHONY: clickhouse
clickhouse: ## Fetch the embedded ClickHouse into .cache, unless it is there
	@go run ./tools/clickhouse

.PHONY: services
services: ## Start real Kafka, PostgreSQL and Redis on loopback until Ctrl-C
	@go run ./tools/services

.PHONY: test
test: clickhouse ## Run every test, also against real Kafka, PostgreSQL and Redis
	@go test -race -shuffle=on -timeout $(TEST_TIMEOUT) ./...

.PHONY: test-short
test-short: ## Run the tests that need no network and no services
	@go test -short ./...

.PHONY: test-fuzz
test-fuzz: ## Run each fuzz target for FUZZ seconds (30)
	@go run ./tools/fuzz -seconds $(FUZZ)

.PHONY: fault
fault: clickhouse ## Run SEEDS (50) of every fault, REAL_SEEDS (5) of them on real Kafka; writes docs/benchmarks/fault.md
	@go test -count=1 -timeout 6h ./tests/fault -seeds $(SEEDS) -real-seeds $(REAL_SEEDS) -report $(CURDIR)/docs/benchmarks/fault.md

.PHONY: soak
soak: clickhouse ## Strike a pipeline under load with random faults for MINUTES (5)
	@go test -count=1 -v -timeout 24h ./tests/fault -run '^TestSoak$$' -soak $(MINUTES)m

.PHONY: bench
bench: clickhouse ## Measure the paths against their limits; writes docs/benchmarks
	@go run ./bench

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code (gofumpt, import order)
	@$(GOLANGCI) fmt ./...

.PHONY: fmt-check
fmt-check: $(GOLANGCI) ## Fail if the code is not formatted
	@diff=$$($(GOLANGCI) fmt --diff ./...) && test -z "$$diff" || { echo "$$diff"; echo 'not formatted: run make fmt'; exit 1; }

.PHONY: vet
vet: ## Run go vet
	@go vet ./...

.PHONY: lint
lint: $(GOLANGCI) ## Run golangci-lint
	@$(GOLANGCI) run ./...

.PHONY: generate
generate: ## Write the reference pages, the AsyncAPI document, the types and the lists of dependencies
	@go run ./tools/docgen
	@go run ./tools/topicgen
	@go run ./tools/deps

.PHONY: generate-check
generate-check: ## Fail if something generated is out of date
	@go run ./tools/docgen -check
	@go run ./tools/topicgen -check
	@go run ./tools/deps -check

.PHONY: archtest
archtest: ## Check who imports whom
	@go test -count=1 ./internal/archtest

.PHONY: ci
ci: fmt-check vet lint generate-check archtest test ## Everything that must pass before a merge

.PHONY: clean
clean: ## Remove what was built and fetched; ./data stays
	@rm -rf bin $(CACHE)

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION)'
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@
