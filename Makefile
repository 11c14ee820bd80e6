# Bivouac needs Go 1.26 and make, nothing else. `make help` lists the targets. Those of the Python
# client also need Python.
# Where cgo works and libjpeg-turbo is installed with its headers, JPEG is decoded with it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# The caller's Go settings must not change what is built or checked.
export GOFLAGS := -mod=readonly -buildvcs=false
export GOWORK := off

# Empty, or the build tag that takes libjpeg-turbo: a program that needs its own functions must link.
LIBJPEG := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && \
	echo 'int main(void) { return LIBJPEG_TURBO_VERSION_NUMBER == 0 || (void *)jpeg_crop_scanline == (void *)jpeg_skip_scanlines; }' | \
	$$(go env CC) -x c -include stdio.h -include jpeglib.h -o /dev/null - -ljpeg 2>/dev/null && echo libjpeg)
ifneq ($(LIBJPEG),)
GOFLAGS += -tags=$(LIBJPEG)
endif

# With these the tests of concurrent packages watch for memory that is used after it was given back.
DEBUG := -tags=bivouac_debug$(LIBJPEG:%=,%)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The command is static: without cgo JPEG is decoded in Go, with the same pixels.
BUILD := CGO_ENABLED=0 go build -trimpath -ldflags '-X main.version=$(VERSION)'

# Packages whose own code or tests start goroutines; these run under the race detector. The rules of
# proof/archtest only name such calls.
CONCURRENT = $$(grep -rlE --include='*.go' --exclude-dir='.[a-z]*' --exclude-dir=testdata --exclude-dir=tools --exclude-dir=stores '^[[:space:]]*go (func\b|[A-Za-z_][A-Za-z0-9_.]*\()|\.Go\(|goleak\.' . | xargs -rn1 dirname | sort -u | grep -vx ./proof/archtest)

PYTHON ?= python3
DEMO_FLAGS ?=
DEMO_DIR ?= demo
FUZZTIME ?= 60s
FLAKY ?= $(CONCURRENT)
FLAKY_RUNS ?= 50
FLAKY_BUSY ?= 20
FLAKY_SLOW ?= 2
MUTATE_FLAGS ?=
PYTEST_FLAGS ?=
TORCH_PYTHON ?=
BENCH_FLAGS ?=
RELEASE_FLAGS ?=
GROWTH_FLAGS ?=

# A stage says its name, and at its end, which may be a failure, its seconds.
say = @trap 'echo "== $(1): $$SECONDS s"' EXIT; echo '== $(1)';
# The same with a temporary directory $$d, which is removed at the end. It is in memory if the machine
# has 4 GiB for it there, so that tests do not wait for a disk that they are not about.
MEMORY := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')" -gt 4194304 ] 2>/dev/null && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
say_in = @d=$$(mktemp -d -p $(MEMORY)); trap 'rm -rf $$d; echo "== $(1): $$SECONDS s"' EXIT; echo '== $(1)';

.PHONY: help build check changed licences demo cluster-demo test test-long test-flaky fuzz mutate bench bench-peers bench-pipeline bench-operators bench-loader bench-readers bench-dynamic bench-stores interop wheel release test-python test-page lint fmt generate gomod gofmt vet staticcheck kernels english archtest python race adapters

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS=$$'\t' read -r name text; do printf '  %-10s %s\n' "$$name" "$$text"; done

build: ## build bin/bivouac
	@echo '== build bin/bivouac ($(VERSION))'
	@$(BUILD) -o bin/bivouac ./cmd/bivouac

demo: build ## train, kill five times, resume, compare bit for bit; then read over 8, 6, 13 and 1 ranks (DEMO_FLAGS, DEMO_DIR)
	@bin/bivouac demo --dir $(DEMO_DIR) $(DEMO_FLAGS)
	@bin/bivouac demo elastic

cluster-demo: ## 4 processes save to a real S3 server and meet in etcd; one is killed, one stopped; 3 and then 5 go on (needs etcd; under a minute)
	@BIVOUAC_REQUIRE_ETCD=1 BIVOUAC_REQUIRE_VERSITYGW=1 go test -count=1 -timeout 170s -v -run '^TestClusterDemo$$' ./examples/cluster | grep -vE '^(===|---|PASS)'

check: ## before a commit, aims at two minutes: format, vet, archtest, short tests of what changed (CHECK_BASE, CHECK_SECONDS)
	@$(MAKE) --no-print-directory gofmt vet archtest changed CHECK_SINCE=$$(date +%s)
	@echo '== make check: all stages passed'

# The packages that changed since the merge base with CHECK_BASE (the main branch) are tested whatever
# it takes. The packages that import them follow, nearest first, and none begins, nor goes on, when
# CHECK_SECONDS are over.
CHECK_BASE ?=
CHECK_SECONDS ?= 100
CHECK_SINCE ?= $(shell date +%s)
changed:
	$(call say,short tests of what changed) \
		go -C tools run ./check -root .. -base '$(CHECK_BASE)' -seconds $(CHECK_SECONDS) -since $(CHECK_SINCE) 2>&1

test: ## everything a change must pass: lint, all tests, the growth gate, the race detector, the adapters
	$(call say,make test) $(MAKE) --no-print-directory lint unit growth race adapters && echo '== make test: all stages passed'

# Packages whose tests are about the disk, or kill a program in the middle of a commit, which memory
# makes too short.
DISK = ./store/... ./internal/vfs/... ./checkpoint/internal/... ./bench/... ./examples/digits/demo ./cmd/bivouac

# Without cgo, as the command is built: JPEG is decoded in Go. The race stage has the other decoder.
# Lint has run vet.
.PHONY: unit
unit: export CGO_ENABLED = 0
unit:
	$(call say_in,tests) go test -vet=off -timeout 30m $(DISK) 2>&1; \
		TMPDIR=$$d go test -vet=off -p 3 -timeout 30m $$(go list ./... | grep -vxF "$$(go list $(DISK))") 2>&1
	$(call say,kernels without assembly) \
		go test -vet=off -tags purego ./internal/kernel/... ./internal/fft ./internal/sound ./op/audio ./op/internal/resample ./op/image 2>&1; \
		go test -vet=off -tags purego -run '^Test(Colors|Kernels)$$' ./codec/video 2>&1

.PHONY: growth
growth: ## each public operation at n, 2n, 4n and 8n: no cost may grow by more than 2.5 a doubling (GROWTH_FLAGS='-v -run tree')
	$(call say_in,growth of public operations) \
		TMPDIR=$$d GOCOVERDIR=$$d go run -cover -covermode=atomic -coverpkg=./...,slices,strings,bytes,sort ./proof/growth/gate $(GROWTH_FLAGS) 2>&1

.PHONY: scale
scale: ## seconds and memory of a checkpoint of 10^6 leaves, and of an array of 262,144 chunks (SCALE_FLAGS='-dir /mnt')
	@go build -o bin/scale ./proof/growth/scale
	@echo '== 1,000,000 leaves' && bin/scale -leaves 1000000 $(SCALE_FLAGS)
	@echo '== 262,144 chunks' && bin/scale -chunks 262144 $(SCALE_FLAGS)

# What has another decoder with cgo: the packages whose tests decode JPEG. A test of proof/archtest
# compares this list with what links codec/jpeg. The race stage runs them with cgo, those that start
# no goroutines without the race detector.
DECODING = ./codec ./codec/jpeg ./codec/jpeg/encode ./codec/tiff ./codec/video ./dynamic ./examples/digits/demo \
	./examples/dynamic ./op/decoders ./op/encoders ./pipeline ./reader/video

# Tests that go through states, bytes or layouts one by one. They start the same goroutines as the
# tests beside them, thousands of times; the race detector would learn nothing and take five times as
# long. The stage of all tests runs them. The scripts are those that train the digits: the tests of
# examples/digits/demo do it under the detector.
ONE_BY_ONE = ^Test(PowerLoss.*|.*BitFlips?|WholeFiles|ChunksMoved|SameBytesEitherWay|DedupLaw|BelievedChecksums|SumsAreThoseOfTheBytes|SeveralFilesFaults|BoxesOfVectors|MendIsRepeatable|MendManifest|RepairIs.*|Every(Failure.*|ReadFails|Stop|RefusalIsTold)|StorageDType.*|CompressedShards.*|LayoutsRoundTrip|LeafStorage.*|OneColumnReadsItsPart|Histories|HistoriesFindMissingSyncs|WrongImplementations|Mend|ForgedData|LargeChunks|DCPFlips|DCPBoxes|NothingToResume|DamagedStep|Etcd)$$|^TestScripts$$/^(demo|corrupt_jpeg|bad_input|resume|diff)$$

# The race detector needs cgo and a C compiler that works. It makes each process wait at its end, by
# default a second, for reports of other threads; the tests start hundreds of processes.
race:
	$(call say_in,race detector on concurrent packages; with cgo) \
	if [ "$$(go env CGO_ENABLED)" = 1 ] && echo 'int main(void) { return 0; }' | $$(go env CC) -x c -o /dev/null - 2>/dev/null; then \
		all=$$(go list $(CONCURRENT)) && disk=$$(go list $(DISK)) || exit 1; \
		go test -short -vet=off $$(go list $(DECODING) | grep -vxF "$$all") 2>&1; \
		judge() { GORACE=atexit_sleep_ms=20 go test -race $(DEBUG) -short -vet=off -p 3 -timeout 40m -skip '$(ONE_BY_ONE)' "$$@" 2>&1; }; \
		judge $$(grep -xF "$$disk" <<< "$$all"); TMPDIR=$$d judge $$(grep -vxF "$$disk" <<< "$$all"); \
	else \
		echo 'skipped: there is no cgo or no C compiler here'; \
	fi

# Modules of their own, so that nobody else links what they adapt.
adapters:
	$(call say_in,adapters) cd adapters/gomlx && go vet ./... && TMPDIR=$$d go test -vet=off ./... 2>&1

test-long: ## crash states in full, kills by the thousand, each fuzz target for FUZZTIME (half an hour)
	@echo '== long tests'
	@BIVOUAC_LONG=1 go test -count=1 -timeout 120m -v -run 'Long|PowerLoss|Every|SIGTERM|CastMemory|^TestScale$$|ManyNames' ./... 2>&1 | grep -vE '^(ok|\?) .*(no tests to run|no test files)|^testing: warning: no tests to run|^PASS$$|^=== '
	@$(MAKE) --no-print-directory fuzz

# Packages run one by one, so that each failure is reported under its package, and all of them run.
# A test of FLAKY_SLOW seconds and more runs a tenth as often: those go through crash states one by
# one, and would take days. The second pass shares the processors with two endless loops for each of them.
test-flaky: ## tests of concurrent packages, FLAKY_RUNS (50) times under -race -cpu 1,2,4, then FLAKY_BUSY (20) times beside a busy machine (FLAKY='./dynamic ./loader')
	@failed=; pids=; \
	tests() { go test -race $(DEBUG) -short -timeout 300m -cpu 1,2,4 "$$@" 2>&1; }; \
	again() { \
		for p in $(FLAKY); do \
			slow=$$(tests -count=1 -v $$p | awk '/^--- / && substr($$NF, 2) + 0 >= $(FLAKY_SLOW) { print $$3 }' | sort -u | paste -sd'|' -) || failed="$$failed $$p (its first run)"; \
			echo "== $$p, $$1 times, $$2$${slow:+, a tenth as often $$slow}"; \
			tests -count=$$1 -skip "^($${slow:-none})\$$" $$p | tail -n 60 || failed="$$failed $$p ($$2)"; \
			[ -z "$$slow" ] || tests -count=$$((($$1 + 9) / 10)) -run "^($$slow)\$$" $$p | tail -n 60 || failed="$$failed $$p ($$2)"; \
		done; \
	}; \
	again $(FLAKY_RUNS) 'an idle machine'; \
	trap 'kill $$pids 2>/dev/null || true' EXIT; \
	for i in $$(seq $$((2 * $$(getconf _NPROCESSORS_ONLN)))); do (while :; do :; done) & pids="$$pids $$!"; done; \
	again $(FLAKY_BUSY) 'a busy machine'; \
	[ -z "$$failed" ] || { echo "== make test-flaky: failed at least once:$$failed" >&2; exit 1; }

fuzz: ## each fuzz target for FUZZTIME (60s)
	@grep -roE --include='*_test.go' --exclude-dir='.[a-z]*' --exclude-dir=testdata --exclude-dir=tools '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file name; do \
		echo "== fuzz $$(dirname $$file) $${name#func } $(FUZZTIME)"; \
		go test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s "$$(dirname $$file)" 2>&1 | tail -n 15; \
	done

mutate: ## remove each sync, check and ordering in turn: the tests must fail (MUTATE_FLAGS='-only expression', -shard i/n, -print, -open)
	@cd tools && go vet ./mutate && go test ./mutate && go run ./mutate -root .. $(MUTATE_FLAGS)

bench: ## all benchmarks, with allocations, then the ratios to the limits of the machine
	@go test -run '^$$' -bench . -benchmem ./... 2>&1 | grep -vE '^(ok|\?) .*no test files|^PASS$$'
	@go run ./bench $(BENCH_FLAGS)

bench-peers: ## checkpoints against the disk, Orbax, safetensors and numpy with the same trees (needs Python and PyPI; BENCH_FLAGS='-mib 256 -only save16')
	@PYTHON=$(PYTHON) bench/checkpoint/peers $(BENCH_FLAGS)

bench-pipeline: ## pipelines against DALI, OpenCV, Pillow and a C loop over libjpeg (needs Python and PyPI; BENCH_FLAGS='-only train -threads 1')
	@PYTHON=$(PYTHON) bench/pipeline/peers $(BENCH_FLAGS)

bench-operators: ## operators on sound, boxes, masks and images against DALI and librosa (needs Python and PyPI; BENCH_FLAGS='-only log-mel,flip -threads 1')
	@PYTHON=$(PYTHON) bench/operators/peers $(BENCH_FLAGS)

bench-stores: ## checkpoints in a bucket against the transfer manager of the AWS SDK (a server on loopback; BENCH_FLAGS='-mib 256 -rounds 3')
	@cd bench/stores && go run . $(BENCH_FLAGS)

bench-readers: ## readers of records against raw reads, DALI, webdataset, streaming, Grain and pyarrow (needs Python and PyPI; PEERS_STREAMING; BENCH_FLAGS='-only tfrecord-1k-order')
	@PYTHON=$(PYTHON) bench/readers/peers $(BENCH_FLAGS)

bench-dynamic: ## operators one by one and compiled loops against DALI's dynamic mode (needs Python and PyPI; BENCH_FLAGS='-only call,uniform')
	@PYTHON=$(PYTHON) bench/dynamic/peers $(BENCH_FLAGS)

bench-loader: ## loaders against Grain, torch, torchdata and streaming (needs Python and PyPI; PEERS_TORCH, PEERS_STREAMING: see bench/loader/requirements.txt; BENCH_FLAGS='-only batch-64 -rounds 3')
	@PYTHON=$(PYTHON) bench/loader/peers $(BENCH_FLAGS)

interop: ## random checkpoints both ways between Bivouac and Orbax, TensorStore, zarr and safetensors (INTEROP_SEED, INTEROP_TREES; needs Python and PyPI)
	@PYTHON=$(PYTHON) tools/interop/run

# The client and the command have one version, which python/bivouac/__init__.py holds.
wheel: ## dist/*.whl for x86_64 and aarch64: the Python client with the static command (needs python3)
	@echo '== build dist/*.whl'
	@rm -f dist/*.whl
	@$(PYTHON) tools/wheel/wheel.py amd64 arm64

release: ## dist/release: commands for Linux and macOS, .deb, .rpm, images, wheels, SBOMs, checksums; then installs them (RELEASE_FLAGS=-snapshot for a commit without a tag; needs python3)
	@cd tools/release && go vet . && go test . && PYTHON=$(PYTHON) go run . -root ../.. -install $(RELEASE_FLAGS)

test-python: wheel ## the Python client, from its wheel in a fresh environment: types and tests (TORCH_PYTHON; needs Python and PyPI; PYTEST_FLAGS='-k wheel')
	$(call say,tests of the Python client) \
		PYTHON=$(PYTHON) TORCH_PYTHON='$(TORCH_PYTHON)' GO="$$(command -v go)" tools/wheel/test $(PYTEST_FLAGS) 2>&1

test-page: ## the page of bivouac ui in headless Chromium: console, requests, contrast, keyboard (skipped without chromium)
	$(call say_in,the page in Chromium) cd tools/ui && go vet . && TMPDIR=$$d go test -count=1 -vet=off . 2>&1

lint: export CGO_ENABLED = 0
lint: gomod gofmt vet staticcheck kernels licences deploy pages english archtest python ## what can be checked without running the code

gomod:
	$(call say,go.mod) \
		for m in go.mod tools/go.mod tools/versitygw/go.mod tools/deploy/go.mod tools/release/go.mod tools/site/go.mod tools/ui/go.mod adapters/gomlx/go.mod bench/stores/go.mod; do \
			grep -qx 'go 1.26' $$m && ! grep -q '^toolchain' $$m \
			|| { echo "$$m must say \"go 1.26\" and name no toolchain" >&2; exit 1; }; \
		done

gofmt:
	$(call say,gofmt) bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "not formatted (make fmt):" >&2; echo "$$bad" >&2; exit 1; }

vet:
	$(call say,vet) go vet ./... 2>&1
	@[ -z "$(LIBJPEG)" ] || CGO_ENABLED=1 go vet ./codec/jpeg 2>&1

staticcheck:
	$(call say,staticcheck) go tool -modfile=tools/go.mod staticcheck ./... 2>&1

# The first line of a generated file says how it was called.
kernels:
	$(call say_in,generated assembly) \
	same() { (cd tools && go run ./kernels/$$1 -out $$d/$$1.s -stubs $$d/$$1.go -pkg $$2) && \
		cmp <(tail -n +2 $$d/$$1.s) <(tail -n +2 $$3) || { echo "$$3 is not what tools/kernels/$$1 writes (make generate)" >&2; exit 1; }; } && \
	same video video codec/video/kernels_amd64.s && \
	same image kernel internal/kernel/avx2_amd64.s && same jpeg pure codec/jpeg/internal/pure/kernels_amd64.s && \
	same feistel feistel internal/kernel/feistel/vector_amd64.s && \
	same castagnoli castagnoli internal/kernel/castagnoli/fold_amd64.s && \
	same fft fft internal/fft/avx2_amd64.s && same sound sound internal/sound/avx2_amd64.s

licences:
	$(call say,licences of what is linked and the tests of tools/check and tools/licences) \
		cd tools && go vet ./check ./licences && go test ./check ./licences 2>&1 && go run ./licences -root .. -check

# The manifests in deploy/ have only fields that Kubernetes knows.
.PHONY: deploy
deploy:
	$(call say,manifests) go -C tools/deploy vet ./... && go -C tools/deploy test ./... 2>&1

# The pages as a site: links, the list of pages, and the catalogue of errors. The cache of results
# does not know of files outside of the module.
.PHONY: pages
pages:
	$(call say,the pages as a site) cd tools/site && go vet . && go test -count=1 . 2>&1

.PHONY: site
site: ## site/: all pages with navigation, search and a catalogue of errors; fails on a dead link
	@go -C tools/site run . -root ../..

# Comments, texts and pages: riddles and long lines (tools/english). Its limits.txt may only fall.
english:
	$(call say,plain English) \
		cd tools && go vet ./english && go test ./english 2>&1 && go run ./english

archtest:
	$(call say,archtest) go test -vet=off -timeout 30m ./proof/archtest 2>&1

# make test-python checks the types.
python:
	$(call say_in,Python compiles and has at most 100 columns) \
	if ! command -v $(PYTHON) >/dev/null; then \
		echo 'skipped: there is no $(PYTHON)'; \
	else \
		PYTHONPYCACHEPREFIX=$$d $(PYTHON) -m compileall -q python tools/wheel && \
		! LC_ALL=C.UTF-8 grep -rnE --include='*.py' --include='*.pyi' '^.{101}' python tools/wheel; \
	fi

fmt: ## format all Go files
	@gofmt -l -w .

generate: ## run all generators
	@go generate ./...
