.PHONY: help run build test tools fmt generate soak fuzz bench judge screenshots

SOAK ?= 30m
FUZZ ?= 30s
SCREENSHOTS ?= docs/screenshots

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: ## start Bullpen with sample work
	go run ./cmd/dashboard -demo

build: ## build bin/dashboard
	go build -trimpath -o bin/dashboard ./cmd/dashboard

test: ## install what the tests need, check everything, run all suites
	@scripts/test

tools: ## install what the tests need
	@scripts/tools

fmt: ## format the code and generate the templates
	go tool templ generate -path templates
	git ls-files '*.go' | grep -v '_templ\.go$$' | xargs go tool gofumpt -w

generate: ## write generated files anew
	go tool templ generate -path templates
	go generate ./...

soak: tools ## compare and break for a long time (SOAK=30m)
	BULLPEN_SOAK=$(SOAK) go test -race -count=1 -timeout 0 -v -run '^Test(Random|Mixed)$$' ./internal/interop
	go test -race -count=10 -timeout 0 -run 'Fault|Killed|Terminated|Garbage|Deleted|Skew|Binary' ./internal/interop
	BULLPEN_SOAK=$(SOAK) go test -race -count=1 -timeout 0 -v -run DeadLetter ./internal/e2e

fuzz: ## look for inputs that break what reads them (FUZZ=30s each)
	scripts/fuzz $(FUZZ)

bench: tools ## run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

judge: tools ## measure at full size what docs/benchmarks.md promises
	BULLPEN_JUDGE=$(abspath docs/benchmarks.md) go test -count=1 -timeout 30m -v ./internal/judge

screenshots: tools ## take the pictures of the documentation
	BULLPEN_SCREENSHOTS=$(abspath $(SCREENSHOTS)) go test -count=1 -run Screenshots -v ./internal/browser
