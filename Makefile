# The commands people type.  CMake builds (CMakeLists.txt); scripts/ does what
# takes more than a line.  Every target sets up what it needs by itself.

PREFIX  ?= /usr/local
DESTDIR ?=
WERROR  ?= $(if $(CI),ON,OFF)
FUZZ_SECONDS ?= 60
MUTANTS ?= 100000
SOAK_MINUTES ?= 60
NEWER   ?= 3.14 3.15

STEP = scripts/step.sh
CMAKE_FLAGS = -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DINFERSCOPE_WERROR=$(WERROR)
# A build directory that somebody configured by hand keeps its generator.
generator = $(if $(wildcard $(1)/CMakeCache.txt),,-G Ninja)

# $(call cmake,DIRECTORY,FLAGS): configures and builds.
define cmake
@$(STEP) configure-$(1) "configuring $(1)" \
	cmake -S . -B $(1) $(call generator,$(1)) $(CMAKE_FLAGS) $(2)
@$(STEP) build-$(1) "building $(1)" cmake --build $(1)
endef

# How many tests run at a time: they wait as well as work, so one more than there are cores; no
# more than four, for what nproc counts may not be all ours.
JOBS ?= $(shell n=$$(nproc); echo $$((n < 3 ? n + 1 : 4)))

# $(call pytest,BUILD DIRECTORY,ARGUMENTS[,PYTHONS]): the tests that run the real program, on the
# interpreters that the command PYTHONS prints.
ENDS = .venv/bin/python scripts/find_pythons.py --ends
ALL  = .venv/bin/python scripts/find_pythons.py
pytest = INFERSCOPE_BIN=$(CURDIR)/$(1)/stage/bin/inferscope \
	INFERSCOPE_PYTHONS=$$($(or $(3),$(ENDS))) \
	.venv/bin/python -m pytest -q -n $(JOBS) $(2)

ctest = cd $(1) && ctest --output-on-failure -j $(JOBS) $(or $(2),-LE measures)

# Those that start no further Python or program of arm64: QEMU's user mode runs one.
ARM64_TESTS = tests/cli/test_export.py tests/cli/test_export_gpu.py \
	tests/cli/test_h200_traces.py tests/cli/test_usage.py tests/golden \
	tests/python/test_calls.py tests/python/test_asyncio.py

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

.PHONY: demo
demo: build venv ## record PyTorch inference on the CPU, print the summary, leave the reports
	build/stage/bin/inferscope run --python .venv/bin/python \
		--report inferscope-report.md --report inferscope-report.html \
		--report inferscope-report.json \
		examples/torch_cpu_inference.py
	@echo
	@echo "The same for a GPU, from a trace that was recorded on an H200 (examples/traces):"
	build/stage/bin/inferscope analyze examples/traces/h200_gpt2_decode.isc

.PHONY: test
test: build venv ## the fast tests; T=PATH[::NAME] or T=test_ring runs one, a slow one too
ifndef T
	@$(call ctest,build)
	@$(call pytest,build)
else ifneq ($(wildcard $(firstword $(subst ::, ,$(T)))),)
	@$(call pytest,build,-n 0 -m "" --timeout 0 "$(T)")
else
	@$(call ctest,build,--no-tests=error -R '^$(T)$$')
endif

.PHONY: test-all
test-all: build venv ## the fast tests on every interpreter there is, not only the oldest and the newest
	@INFERSCOPE_PYTHONS=$$($(ALL)) && export INFERSCOPE_PYTHONS && $(call ctest,build)
	@$(call pytest,build,,$(ALL))

.PHONY: golden
golden: build venv ## rewrite the expected reports of tests/golden and examples/traces; review the diff
	@INFERSCOPE_UPDATE_GOLDEN=1 && export INFERSCOPE_UPDATE_GOLDEN && \
		$(call ctest,build,-R '^test_report_golden$$')
	@INFERSCOPE_UPDATE_GOLDEN=1 $(call pytest,build,-n 0 tests/cli/test_h200_traces.py)
	@git status --short tests/golden examples/traces README.md

.PHONY: test-long
test-long: test-all test-cpython test-compat check-model check-arm64 ## hours: measurements, CPython's suite, fuzzing and a soak as well
	@$(call pytest,build,-m "long and not measures" --timeout 3600,$(ALL))
	@$(call pytest,build,-m measures -n 0 --timeout 3600,$(ALL))
	@$(call ctest,build,-L measures)
	.venv/bin/python tests/unseen_cpu/record_cpu.py --bin build/stage/bin/inferscope --pairs 1 --out build/unseen_cpu
	@INFERSCOPE_RACE_MS=60000 && export INFERSCOPE_RACE_MS && $(call ctest,build,-R test_drain_race)
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=600
	@$(MAKE) --no-print-directory soak
	@$(MAKE) --no-print-directory mutate

.PHONY: soak
soak: build venv ## an hour of 200 000 events a second, plain and with --ring side by side: nothing may grow
	@for mode in "--events-per-s 200000 --churn 1" "--events-per-s 100000 --ring --churn 1"; do \
		.venv/bin/python tests/soak/soak.py --bin build/stage/bin/inferscope \
			--minutes $(SOAK_MINUTES) $$mode & jobs="$$jobs $$!"; \
	done; status=0; for job in $$jobs; do wait $$job || status=1; done; exit $$status

.PHONY: test-cpython
test-cpython: build venv ## CPython's own test suite, alone and recorded: equal outcomes
	INFERSCOPE_PYTHONS=$$($(ALL)) \
	.venv/bin/python tests/cpython/run_suite.py --bin build/stage/bin/inferscope

.PHONY: test-compat
test-compat: build venv ## tracemalloc, faulthandler, coverage, gevent, uvloop: alone and recorded
	INFERSCOPE_PYTHONS=$$($(ALL)) \
	.venv/bin/python tests/compat/run_compat.py --bin build/stage/bin/inferscope

.PHONY: test-newer
test-newer: build venv ## the tests on CPythons that come after the distribution's (Debian)
	@scripts/packages.sh newer
	@$(call pytest,build,tests/python,scripts/newer_pythons.sh build-newer $(NEWER))

.PHONY: build
build: packages ## the program and the agent, in build/stage
	$(call cmake,build)

.PHONY: install
install: build ## into DESTDIR and PREFIX (/usr/local)
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

BENCH_FLAGS = -DCMAKE_BUILD_TYPE=Release -DINFERSCOPE_TESTS=OFF -DINFERSCOPE_BENCH=ON

.PHONY: bench
bench: venv packages ## the benchmarks, one table
	$(call cmake,build-bench,$(BENCH_FLAGS))
	.venv/bin/python bench/run.py --build build-bench $(BENCH)

.PHONY: bench-cpu
bench-cpu: venv packages ## what profilers cost, every version and tool: hours, goes on where it was broken off
	$(call cmake,build-bench,$(BENCH_FLAGS))
	.venv/bin/python bench/bench_cpu.py --all --markdown build-bench/bench_cpu.md $(BENCH_CPU)
	@cat build-bench/bench_cpu.md

TRACES ?= build-gpu/examples

.PHONY: accuracy
accuracy: build venv ## docs/ACCURACY.md from the recordings in TRACES and UNSEEN, which are not in the repository
	.venv/bin/python scripts/accuracy.py --bin build/stage/bin/inferscope \
		--traces $(TRACES) $(UNSEEN:%=--unseen %) $(if $(UNSEEN_CPU),--unseen-cpu $(UNSEEN_CPU)) --write docs/ACCURACY.md

.PHONY: programs
programs: build venv ## record real programs from the package registry (PROGRAMS="NAME..."), judge, write docs/ACCURACY.md
	.venv/bin/python tests/programs/run_programs.py --bin build/stage/bin/inferscope --column now \
		--write docs/ACCURACY.md $(PROGRAMS)

.PHONY: stage-gpu
stage-gpu: packages ## build-gpu/stage: a program to carry to a machine with a GPU (tests/gpu)
	$(call cmake,build-gpu,-DCMAKE_BUILD_TYPE=Release -DINFERSCOPE_STATIC=ON -DINFERSCOPE_TESTS=OFF -DINFERSCOPE_BENCH=OFF)

.PHONY: lint
lint: venv packages ## formatting, clang-tidy, Python, shell, layers
	@scripts/packages.sh clang lint
	@$(STEP) configure-build-lint "configuring build-lint" \
		cmake -S . -B build-lint -G Ninja $(CMAKE_FLAGS) -DCMAKE_C_COMPILER=clang
	@$(STEP) build-build-lint "making what sources include" cmake --build build-lint --target assets
	@scripts/lint.sh build-lint

.PHONY: format
format: ## clang-format everything in place
	@scripts/packages.sh lint
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: check-asan
check-asan: venv packages ## unit and program tests under the address and undefined sanitizers
	$(call cmake,build-asan,-DINFERSCOPE_SANITIZE=address$(,)undefined)
	@$(call ctest,build-asan)
	@$(call pytest,build-asan)

.PHONY: check-arm64
check-arm64: venv packages ## cross-built for arm64, unit and program tests under QEMU
	@scripts/packages.sh arm64
	@$(STEP) sysroot-arm64 "fetching the libraries and the Python of arm64" \
		scripts/sysroot_arm64.sh build-arm64/sysroot
	$(call cmake,build-arm64,-DCMAKE_TOOLCHAIN_FILE=cmake/Arm64.cmake -DINFERSCOPE_BENCH=OFF)
	@$(call ctest,build-arm64,-LE measures -E test_many_threads) # 4 minutes, emulated
	INFERSCOPE_BIN=$(CURDIR)/build-arm64/inferscope \
	INFERSCOPE_PYTHONS=$(CURDIR)/build-arm64/python3 \
	.venv/bin/python -m pytest -q $(ARM64_TESTS)

.PHONY: check-model
check-model: build ## the ring protocol with each release and acquire left out: all must be noticed
	build/tests/model/model_ring 2 mutants

.PHONY: check-tsan
check-tsan: packages ## unit tests under the thread sanitizer
	$(call cmake,build-tsan,-DINFERSCOPE_SANITIZE=thread)
	@$(call ctest,build-tsan)

.PHONY: coverage
coverage: venv packages ## line coverage of src/ by all tests; fails under 80 %
	@scripts/packages.sh coverage
	$(call cmake,build-cov,-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS=--coverage -fprofile-update=atomic")
	@find build-cov -name '*.gcda' -delete
	@$(call ctest,build-cov)
	@$(call pytest,build-cov)
	gcovr --root . --filter src/ --print-summary --fail-under-line 80 \
		--txt build-cov/coverage.txt build-cov

.PHONY: fuzz
fuzz: packages ## every fuzzer for FUZZ_SECONDS (60)
	@scripts/packages.sh clang
	@scripts/packages.sh fuzz
	$(call cmake,build-fuzz,-DCMAKE_C_COMPILER=clang -DINFERSCOPE_TESTS=OFF -DINFERSCOPE_FUZZ=ON)
	@scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

.PHONY: mutate
mutate: packages ## MUTANTS (100000) damaged traces through all reports and exports, with sanitizers
	$(call cmake,build-asan,-DINFERSCOPE_SANITIZE=address$(,)undefined)
	@mkdir -p build-asan/mutants
	build-asan/tests/fuzz/mutate_traces --count $(MUTANTS) --jobs $$(nproc) --keep build-asan/mutants \
		tests/fuzz/corpus/mutants tests/fuzz/corpus/trace tests/golden/*.story \
		examples/traces/*.isc

.PHONY: clean
clean: ## remove what was built; .venv stays
	rm -rf build build-*

.PHONY: packages
packages:
	@scripts/packages.sh build

.PHONY: venv
venv: packages
	@scripts/venv.sh

, := ,
