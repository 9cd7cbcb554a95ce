/*
 * What CUPTI does with CUDA graphs, asked of the library itself: which numbers nodes
 * have, when the switch between nodes and whole graphs takes effect, what each costs.
 * The agent's ways with graphs rest on its answers (tests/gpu/graph_probe.py runs it).
 *
 *   graph_probe LIBCUPTI [SCENARIO]      one JSON line for each answer
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <time.h>
#include <vector>

#include <cuda_runtime.h>

#include "agent/gpu/cupti.h"
#include "workloads/cuda_check.h"

struct cupti cupti;

extern "C" __global__ void turn(unsigned int *word)
{
	atomicAdd(word, 1u);
}

extern "C" __global__ void other(unsigned int *word)
{
	atomicAdd(word, 2u);
}

enum { KERNELS = 20, BYTES = 4096 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What was heard. */
struct decisions_seen {
	size_t created, cloned, execs, refused;
	std::map<uint64_t, uint64_t> original; /* of a clone */
	std::set<uint64_t> made;
	size_t in_call; /* created between enter and exit of a call */
};
static struct decisions_seen decisions_seen;
static int depth;
static bool raw; /* tell every number */

static void say_raw(const char *what, uint64_t node, uint64_t from, int type)
{
	if (raw)
		printf("  %s %llx %llx type %d\n", what, (unsigned long long)node,
		       (unsigned long long)from, type);
}

struct seen {
	size_t kernels, copies, memsets, graphs, made_nodes, cloned_nodes, unknown_nodes;
	std::set<uint32_t> graph_ids;
	std::map<uint32_t, size_t> by_correlation;
};
static struct seen seen;

static void on_callback(void *user, int domain, uint32_t id, const void *argument)
{
	if (domain != CUPTI_DOMAIN_RESOURCE) {
		depth += ((const struct cupti_callback_data *)argument)->site == CUPTI_ENTER ? 1 : -1;
		return;
	}
	const struct cupti_graph_data *g =
		(const struct cupti_graph_data *)((const struct cupti_resource_data *)argument)
			->descriptor;
	uint64_t node = 0, from = 0;

	if (id == CUPTI_GRAPH_EXEC_CREATED) {
		decisions_seen.execs++;
		return;
	}
	decisions_seen.refused += cupti.GetGraphNodeId(g->node, &node) != 0;
	if (id == CUPTI_GRAPH_NODE_CREATED) {
		decisions_seen.created++;
		decisions_seen.made.insert(node);
		decisions_seen.in_call += depth > 0;
		say_raw("created", node, 0, g->node_type);
		return;
	}
	decisions_seen.refused += cupti.GetGraphNodeId(g->original_node, &from) != 0;
	decisions_seen.cloned++;
	decisions_seen.original[node] = from;
	say_raw("cloned", node, from, g->node_type);
}

static void on_node(uint64_t node)
{
	if (!node)
		return;
	say_raw("ran", node, 0, 0);
	if (decisions_seen.original.count(node))
		seen.cloned_nodes++;
	else if (decisions_seen.made.count(node))
		seen.made_nodes++;
	else
		seen.unknown_nodes++;
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*bytes = 1 << 20;
	*records = 0;
	*buffer = (uint8_t *)aligned_alloc(8, *bytes);
}

/* CUPTI's thread and one that flushes may hand buffers over at the same time. */
static std::mutex seen_lock;

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	std::lock_guard<std::mutex> guard(seen_lock);
	struct cupti_activity *a = NULL;

	while (valid && !cupti.GetNextRecord(buffer, valid, &a)) {
		const struct cupti_kernel *k = (const struct cupti_kernel *)a;
		const struct cupti_copy *c = (const struct cupti_copy *)a;
		const struct cupti_memset *m = (const struct cupti_memset *)a;
		const struct cupti_graph *g = (const struct cupti_graph *)a;

		if (a->kind == CUPTI_KIND_CONCURRENT_KERNEL) {
			seen.kernels++;
			seen.by_correlation[k->correlation]++;
			seen.graph_ids.insert(k->graph);
			on_node(k->graph_node);
		} else if (a->kind == CUPTI_KIND_COPY) {
			seen.copies++;
			seen.by_correlation[c->correlation]++;
			on_node(c->graph_node);
		} else if (a->kind == CUPTI_KIND_MEMSET) {
			seen.memsets++;
			seen.by_correlation[m->correlation]++;
			on_node(m->graph_node);
		} else if (a->kind == CUPTI_KIND_GRAPH) {
			seen.graphs++;
			seen.by_correlation[g->correlation]++;
			seen.graph_ids.insert(g->graph);
		}
	}
	free(buffer);
}

static uint64_t timestamp(void)
{
	return now();
}

static cupti_subscriber subscriber;

static void must(const char *what, int result)
{
	if (result) {
		fprintf(stderr, "%s: %d\n", what, result);
		exit(98);
	}
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(97);
	}
#define LOAD(name, symbol, args) *(void **)&cupti.name = dlsym(library, symbol);
	CUPTI_FUNCTIONS(LOAD)
	*(void **)&cupti.GetGraphNodeId = dlsym(library, "cuptiGetGraphNodeId");
}

static void subscribe(void)
{
	must("subscribe", cupti.Subscribe(&subscriber, on_callback, NULL));
	/* cudaLaunchKernel, cudaGraphLaunch, cudaGraphAddKernelNode: calls that make nodes */
	for (uint32_t id : { 211u, 311u, 41u, 51u })
		must("callback", cupti.EnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, id));
}

static void hear_nodes(int on)
{
	for (uint32_t id : { CUPTI_GRAPH_NODE_CREATED, CUPTI_GRAPH_NODE_CLONED,
			     CUPTI_GRAPH_EXEC_CREATED })
		must("resource", cupti.EnableCallback(on, subscriber, CUPTI_DOMAIN_RESOURCE, id));
}

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_MEMSET };

static void activities(bool on)
{
	if (on) {
		must("clock", cupti.RegisterTimestamp(timestamp));
		must("buffers", cupti.RegisterCallbacks(on_request, on_complete));
	}
	for (int kind : kinds)
		must("kind", on ? cupti.ActivityEnable(kind) : cupti.ActivityDisable(kind));
}

static int graphs_whole(bool on)
{
	return on ? cupti.ActivityEnable(CUPTI_KIND_GRAPH) : cupti.ActivityDisable(CUPTI_KIND_GRAPH);
}

static unsigned int *word, *copy_to;
static cudaStream_t stream;

static cudaGraph_t capture(int kernels)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < kernels; i++)
		turn<<<1, 32, 0, stream>>>(word);
	CHECK(cudaMemcpyAsync(copy_to, word, BYTES, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemsetAsync(copy_to, 0, BYTES, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static struct seen replay(cudaGraphExec_t exec, int times)
{
	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaDeviceSynchronize());
	cupti.FlushAll(0);
	cupti.FlushAll(CUPTI_FLUSH_FORCED);
	std::lock_guard<std::mutex> guard(seen_lock);
	struct seen now_seen = seen;
	seen = {};
	return now_seen;
}

static void say(const char *what, const struct seen &s, int result = 0)
{
	std::string each, ids;

	for (auto &pair : s.by_correlation)
		each += (each.empty() ? "" : ",") + std::to_string(pair.second);
	for (auto id : s.graph_ids)
		ids += (ids.empty() ? "" : ",") + std::to_string(id);
	printf("{\"what\": \"%s\", \"result\": %d, \"kernels\": %zu, \"copies\": %zu, \"memsets\": %zu, "
	       "\"graphs\": %zu, \"nodes_made\": %zu, \"nodes_cloned\": %zu, \"nodes_unknown\": %zu, "
	       "\"graph_ids\": [%s], \"records_of_each_launch\": [%s]}\n",
	       what, result, s.kernels, s.copies, s.memsets, s.graphs, s.made_nodes, s.cloned_nodes,
	       s.unknown_nodes, ids.c_str(), each.c_str());
	fflush(stdout);
}

static void say_heard(const char *what)
{
	size_t of_made = 0, of_clones = 0;

	for (auto &pair : decisions_seen.original) {
		of_made += decisions_seen.made.count(pair.second);
		of_clones += decisions_seen.original.count(pair.second);
	}
	printf("{\"what\": \"%s\", \"created\": %zu, \"created_in_a_call\": %zu, \"cloned\": %zu, "
	       "\"clones_of_created\": %zu, \"clones_of_clones\": %zu, \"execs\": %zu, "
	       "\"refused\": %zu}\n",
	       what, decisions_seen.created, decisions_seen.in_call, decisions_seen.cloned, of_made, of_clones, decisions_seen.execs,
	       decisions_seen.refused);
	fflush(stdout);
	decisions_seen.created = decisions_seen.cloned = decisions_seen.execs = decisions_seen.in_call = 0;
}

/* Which numbers nodes of captured, nested, made and updated graphs have. */
static void numbers(void)
{
	cudaGraph_t graph, inner, by_hand;
	cudaGraphNode_t node, child;
	cudaGraphExec_t exec;
	void *arguments[] = { &word };
	cudaKernelNodeParams params = {};

	hear_nodes(1);
	graph = capture(KERNELS);
	say_heard("captured");
	exec = instantiate(graph);
	say_heard("instantiated");
	replay(exec, 1);
	say("captured graph", replay(exec, 3));
	say_heard("replayed");
	CHECK(cudaGraphExecDestroy(exec));
	exec = instantiate(graph);
	say("the same graph, second instance", replay(exec, 2));
	say_heard("second instance");

	cudaGraphExecUpdateResultInfo info;
	inner = capture(KERNELS);
	CHECK(cudaGraphExecUpdate(exec, inner, &info));
	say_heard("captured again, exec updated");
	say("updated exec", replay(exec, 2));

	raw = true;
	CHECK(cudaGraphCreate(&by_hand, 0));
	params.func = (void *)other;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	CHECK(cudaGraphAddKernelNode(&node, by_hand, NULL, 0, &params));
	CHECK(cudaGraphAddChildGraphNode(&child, by_hand, &node, 1, inner));
	say_heard("made by hand, with a child graph");
	exec = instantiate(by_hand);
	say_heard("by hand, instantiated");
	raw = true;
	say("by hand, with a child graph", replay(exec, 2));
	raw = false;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
	say("by hand, parameters set", replay(exec, 2));
	say_heard("by hand, parameters set");
}

static void cost_of(const char *what, cudaGraphExec_t exec, int kernels);

static const char *volatile doing = "";

static void let_go(void)
{
	doing = "disable";
	activities(false);
	doing = "unsubscribe";
	must("unsubscribe", cupti.Unsubscribe(subscriber));
}

static void take_again(void)
{
	doing = "subscribe";
	subscribe();
	hear_nodes(1);
	doing = "enable";
	activities(true);
}

/* Pauses of the recording, as gpu_windows.c makes them: on which graphs do they take effect? */
static void pauses(void)
{
	cudaGraphExec_t early, silent, unheard;

	hear_nodes(1);
	early = instantiate(capture(KERNELS));
	say("instantiated and recorded", replay(early, 3));
	let_go();
	say("in a pause", replay(early, 3));
	silent = instantiate(capture(KERNELS));
	say("instantiated in a pause, in it", replay(silent, 3));
	take_again();
	say("instantiated before the pause, after it", replay(early, 3));
	say("instantiated in the pause, after it", replay(silent, 3));
	hear_nodes(0);
	unheard = instantiate(capture(KERNELS));
	say("instantiated unheard", replay(unheard, 3));

	/* Between launches that nobody waits for: the device has work all the time. */
	for (int i = 0; i < 6; i++) {
		CHECK(cudaGraphLaunch(early, stream));
		if (i == 1)
			let_go();
		if (i == 3)
			take_again();
	}
	say("six launches without a wait: 2 recorded, 2 not, 2 recorded", replay(early, 0));
}

/* Whole graphs for those that exist already.  Seen with 11.8, 12.9 and 13.0: their next launch
 * crashes in CUPTI. */
static void whole_late(void)
{
	cudaGraphExec_t early = instantiate(capture(KERNELS));
	int result;

	say("nodes", replay(early, 3));
	result = graphs_whole(true);
	say("instantiated with nodes, whole now", replay(early, 3), result);
}

/* ... which were instantiated while nothing was on, or in a pause. */
static void whole_unseen(void)
{
	cudaGraphExec_t silent;
	int result;

	activities(false);
	silent = instantiate(capture(KERNELS));
	result = graphs_whole(true);
	activities(true);
	say("instantiated while nothing was on, whole now", replay(silent, 3), result);
}

/* The other way round: from whole graphs to nodes and back. */
static void whole_first(void)
{
	int result = graphs_whole(true);
	cudaGraphExec_t whole = instantiate(capture(KERNELS));

	say("instantiated while whole, whole now", replay(whole, 3), result);
	cost_of("whole graphs", whole, KERNELS);
	result = graphs_whole(false);
	say("instantiated while whole, nodes now", replay(whole, 3), result);
	result = graphs_whole(true);
	say("instantiated while whole, whole again", replay(whole, 3), result);
}

static volatile bool launching;
static volatile unsigned long launched;

static void *launch_all_the_time(void *exec)
{
	for (; launching; launched++)
		CHECK(cudaGraphLaunch((cudaGraphExec_t)exec, stream));
	return NULL;
}

/* Where it hangs, if it does, and whether the program is held up by it. */
static void *watch(void *unused)
{
	for (int i = 0; i < 4; i++) {
		struct timespec pause = { 5, 0 };
		unsigned long before = launched;

		nanosleep(&pause, NULL);
		printf("{\"what\": \"after %d s\", \"in\": \"%s\", \"launches_in_5_s\": %lu}\n",
		       5 * (i + 1), doing, launched - before);
		fflush(stdout);
	}
	return unused;
}

/* Another thread lets go of CUPTI and takes it while launches are made: does it wait, or crash? */
static void races(void)
{
	cudaGraphExec_t exec = instantiate(capture(KERNELS));
	uint64_t longest = 0;
	pthread_t thread, watcher;

	replay(exec, 1);
	launching = true;
	pthread_create(&watcher, NULL, watch, NULL);
	pthread_create(&thread, NULL, launch_all_the_time, exec);
	for (int i = 0; i < 40; i++) {
		struct timespec pause = { 0, 5000000 };
		uint64_t start = now();

		if (i % 2 == 0)
			let_go();
		else
			take_again();
		doing = "between";
		longest = std::max(longest, now() - start);
		nanosleep(&pause, NULL);
	}
	launching = false;
	doing = "join";
	pthread_join(thread, NULL);
	doing = "flush";
	struct seen s = replay(exec, 0);
	std::map<size_t, size_t> by_size;
	for (auto &pair : s.by_correlation)
		by_size[pair.second]++;
	printf("{\"what\": \"20 pauses while a thread launches\", \"longest_switch_us\": %.1f, "
	       "\"launches\": %zu",
	       (double)longest / 1000, s.by_correlation.size());
	for (auto &pair : by_size)
		printf(", \"launches_with_%zu_records\": %zu", pair.first, pair.second);
	printf("}\n");
	fflush(stdout);
}

/* Host time of a launch and time of a whole replay, medians; kernels of 1 to 2 us. */
static void cost_of(const char *what, cudaGraphExec_t exec, int kernels)
{
	std::vector<double> host, whole;

	for (int round = 0; round < 12; round++) {
		uint64_t start = now(), in_calls = 0;

		for (int i = 0; i < 20; i++) {
			uint64_t before = now();

			CHECK(cudaGraphLaunch(exec, stream));
			in_calls += now() - before;
		}
		CHECK(cudaDeviceSynchronize());
		whole.push_back((double)(now() - start) / 20000);
		host.push_back((double)in_calls / 20000);
	}
	cupti.FlushAll(0);
	std::sort(host.begin(), host.end());
	std::sort(whole.begin(), whole.end());
	printf("{\"what\": \"cost: %s\", \"kernels\": %d, \"launch_us\": %.2f, \"replay_us\": %.2f}\n",
	       what, kernels, host[host.size() / 2], whole[whole.size() / 2]);
	fflush(stdout);
	replay(exec, 0);
}

static void costs(void)
{
	for (int kernels : { 20, 200 }) {
		cudaGraphExec_t exec = instantiate(capture(kernels));

		replay(exec, 3);
		for (int round = 0; round < 2; round++) {
			activities(false);
			cost_of("nothing on", exec, kernels);
			activities(true);
			cost_of("nodes", exec, kernels);
			hear_nodes(1);
			cost_of("nodes, node callbacks on", exec, kernels);
			hear_nodes(0);
		}
		for (int on = 0; on < 2; on++) {
			uint64_t start;

			hear_nodes(on);
			start = now();
			for (int i = 0; i < 10; i++)
				instantiate(capture(kernels));
			printf("{\"what\": \"cost: capture and instantiation, node callbacks %s\", "
			       "\"kernels\": %d, \"us\": %.1f}\n",
			       on ? "on" : "off", kernels, (double)(now() - start) / 10000);
			hear_nodes(0);
		}
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = { { "numbers", numbers },
			  { "pauses", pauses },
			  { "races", races },
			  { "costs", costs },
			  { "whole_first", whole_first },
			  { "whole_unseen", whole_unseen },
			  { "whole_late", whole_late } };

	if (argc != 3)
		return 2;
	load(argv[1]);
	must("version", cupti.GetVersion(&cupti.version));
	subscribe();
	activities(true);
	CHECK(cudaMalloc((void **)&word, BYTES));
	CHECK(cudaMalloc((void **)&copy_to, BYTES));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	turn<<<1, 32, 0, stream>>>(word);
	CHECK(cudaDeviceSynchronize());
	replay(NULL, 0);
	for (auto &each : scenarios)
		if (!strcmp(each.name, argv[2]))
			each.run();
	return 0;
}
