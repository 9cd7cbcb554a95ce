/* The search, and the threads that it runs one at a time.  See model.h. */
#include "model.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_entry.h"
#include "model_memory.h"

#define MAX_CHOICES 4096u

/* The search: the choices of this execution, the last of which is varied next. */
struct choice {
	unsigned taken, ways;
	unsigned left; /* of the budget, before it */
	bool free;     /* costs nothing */
};

static struct choice choices[MAX_CHOICES];
static unsigned choice_count, choice_at, budget_left;
static unsigned budget;

enum thread_state { THREAD_NONE, THREAD_READY, THREAD_ENDED, THREAD_KILLED };

static struct {
	enum thread_state state;
	sem_t turn;
	pthread_t id;
	jmp_buf death; /* until it has returned and only its destructors run */
	bool returned;
} threads[MODEL_THREADS + 1];

static const struct model_scenario *scenario;
static sem_t all_ended;
static __thread unsigned self; /* 0: the one that started the others */
static pthread_key_t end_key;
static char failure[256];
bool model_running;

void model_fail(const char *format, ...)
{
	va_list args;

	if (*failure)
		return;
	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
}

static unsigned choose(unsigned n, bool is_free)
{
	struct choice *c = &choices[choice_at];

	if (choice_at == MAX_CHOICES)
		abort();
	if (n < 2 || (!is_free && !budget_left))
		return 0;
	if (choice_at == choice_count) {
		*c = (struct choice){ 0, n, budget_left, is_free };
		choice_count++;
	}
	choice_at++;
	if (c->taken && !is_free)
		budget_left--;
	return c->taken;
}

unsigned model_choose(unsigned n)
{
	return choose(n, false);
}

/* The next execution.  False: there is none. */
static bool search_next(void)
{
	while (choice_count &&
	       choices[choice_count - 1].taken + 1 == choices[choice_count - 1].ways)
		choice_count--;
	if (!choice_count)
		return false;
	choices[choice_count - 1].taken++;
	return true;
}

static unsigned others_ready(unsigned *list)
{
	unsigned n = 0;

	for (unsigned i = 1; i <= MODEL_THREADS; i++) {
		if (i != self && threads[i].state == THREAD_READY)
			list[n++] = i;
	}
	return n;
}

/* This thread is over: another one's turn. */
static void hand_over(void)
{
	unsigned list[MODEL_THREADS], n = others_ready(list);

	if (n)
		sem_post(&threads[list[choose(n, true)]].turn);
	else
		sem_post(&all_ended);
}

void model_step(uint64_t address)
{
	unsigned list[MODEL_THREADS], n, way;
	bool mortal;

	if (!self || !memory_contended(address))
		return;
	n = others_ready(list);
	mortal = scenario->threads[self - 1].mortal;
	way = choose(1 + n + mortal, false);
	if (!way)
		return;
	if (way == 1 + n) {
		threads[self].state = THREAD_KILLED;
		if (!threads[self].returned)
			longjmp(threads[self].death, 1);
		return;
	}
	sem_post(&threads[list[way - 1]].turn);
	sem_wait(&threads[self].turn);
}

unsigned model_self(void)
{
	return self;
}

bool model_is_killed(void)
{
	return threads[self].state == THREAD_KILLED;
}

bool model_was_killed(unsigned thread)
{
	if (threads[thread].state != THREAD_KILLED)
		return false;
	memory_join(self, thread);
	return true;
}

/*
 * Runs with the destructors of the thread's other keys, in an order that nobody
 * promises; a value set again makes for another round, which comes after all.
 */
static void at_end(void *again)
{
	if (again == threads) {
		pthread_setspecific(end_key, &threads[self]);
		return;
	}
	if (threads[self].state == THREAD_READY)
		threads[self].state = THREAD_ENDED;
	hand_over();
}

static void *run_thread(void *number)
{
	self = (unsigned)(uintptr_t)number;
	sem_wait(&threads[self].turn);
	pthread_setspecific(end_key, threads);
	if (!setjmp(threads[self].death))
		scenario->threads[self - 1].run();
	threads[self].returned = true;
	return NULL;
}

static void run_once(void)
{
	unsigned list[MODEL_THREADS];

	model_running = false;
	scenario->set_up();
	memory_begin();
	model_entry_begin();
	choice_at = 0;
	budget_left = budget;
	for (unsigned i = 1; i <= MODEL_THREADS; i++) {
		threads[i].returned = false;
		threads[i].state = scenario->threads[i - 1].run ? THREAD_READY : THREAD_NONE;
		if (threads[i].state == THREAD_READY &&
		    pthread_create(&threads[i].id, NULL, run_thread, (void *)(uintptr_t)i))
			abort();
	}
	model_running = true;
	sem_post(&threads[list[choose(others_ready(list), true)]].turn);
	sem_wait(&all_ended);
	for (unsigned i = 1; i <= MODEL_THREADS; i++) {
		if (threads[i].state == THREAD_NONE)
			continue;
		pthread_join(threads[i].id, NULL);
		memory_join(0, i);
	}
	scenario->check();
	model_running = false;
	memory_end();
}

static void set_up_once(void)
{
	pthread_key_create(&end_key, at_end);
	sem_init(&all_ended, 0, 0);
	for (unsigned i = 1; i <= MODEL_THREADS; i++)
		sem_init(&threads[i].turn, 0, 0);
}

const char *model_explore(const struct model_scenario *s, unsigned at_most,
			  const struct model_mutant *mutant, uint64_t *executions)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_up_once);
	scenario = s;
	budget = (unsigned)((int)at_most + s->more > 0 ? (int)at_most + s->more : 0);
	*failure = '\0';
	model_entry_weaken(mutant);
	memory_reset();
	do {
		choice_count = 0;
		do {
			run_once();
			++*executions;
		} while (!*failure && search_next());
	} while (!*failure && memory_learn());
	return *failure ? failure : NULL;
}
