/*
 * A native inference server on InferScope's timeline: threads that take requests
 * from a queue, with scopes, counters and marks.  Only the header is needed:
 *
 *	cc -std=c99 -O2 -I include examples/native_server.c -o native_server -pthread
 *	inferscope run -- ./native_server
 *
 * Without `inferscope run` it does the same work; a scope costs a load and a branch.
 */
#include <inferscope.h>

#include <pthread.h>
#include <stdio.h>

#define REQUESTS 200
#define WORKERS 2
#define WIDTH 96

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int waiting = REQUESTS;

struct activations {
	float x[WIDTH];
};

/* Takes a request off the queue; its number, or 0: none is left. */
static int take(void)
{
	int taken;

	pthread_mutex_lock(&lock);
	taken = waiting ? waiting-- : 0;
	inferscope_counter("queue", waiting);
	pthread_mutex_unlock(&lock);
	return taken;
}

static void layer(struct activations *a, int depth)
{
	struct activations out;

	INFERSCOPE_SCOPE("layer"); /* to the end of this block */
	for (int i = 0; i < WIDTH; i++) {
		out.x[i] = 0;
		for (int k = 0; k < WIDTH; k++)
			out.x[i] += a->x[k] * (float)((i * k + depth) % 7 - 3) / WIDTH;
	}
	*a = out;
}

static float infer(int request)
{
	inferscope_scope whole = inferscope_begin("request");
	struct activations a;

	for (int i = 0; i < WIDTH; i++)
		a.x[i] = (float)(request % (i + 1));
	for (int depth = 0; depth < 8; depth++)
		layer(&a, depth);
	inferscope_end(whole);
	return a.x[0];
}

static void *worker(void *sum)
{
	int request;

	inferscope_thread_name("worker");
	while ((request = take()))
		*(float *)sum += infer(request);
	inferscope_mark("worker done");
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	float sums[WORKERS] = { 0 };
	float sum = 0;

	for (int i = 0; i < WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, worker, &sums[i]))
			return 1;
	}
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	printf("%d requests%s\n", REQUESTS, sum == sum ? "" : ", and not a number");
	return 0;
}
