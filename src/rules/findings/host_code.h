/*
 * The host's own part of a step, function by function: what several findings share out among
 * themselves.  That is TIME_CPU_PREPROCESSING, and, inside of a model, what the interpreter or
 * numpy does for the user's own code instead of calling operators.
 */
#ifndef RULES_FINDINGS_HOST_CODE_H
#define RULES_FINDINGS_HOST_CODE_H

#include "analyze/classes/code_kind.h"
#include "rules/finding_builder.h"

/* Whose a function's time is. */
enum host_kind {
	HOST_CODE,    /* its own */
	HOST_NUMPY,   /* numpy's, by its Python code or by native samples */
	HOST_COMPUTE, /* a framework's operators, in a process that uses no GPU */
	HOST_IO,      /* it also waits for data there: it runs in the system call that reads them */
	HOST_SYNC,    /* it also waits for the GPU there: it asks for what it waits for */
	HOST_LOCK,    /* it waits for a lock there, and samples were too few to see each wait */
	HOST_AROUND,  /* a server's, around the user's handlers; or on the way into a wait */
};

/* Per step, in ms; and the page faults of the same code. */
double host_ms(const struct finding_builder *d, enum host_kind kind);
double host_faults_ms(const struct finding_builder *d, enum host_kind kind);
/* Of one function, both together. */
double host_function_ms(const struct finding_builder *d, enum host_kind kind,
			const struct place *function);
/*
 * Is it a line that may unmap what the steps map?  Page faults take time in them, in another
 * function of the same file; nearly all of this one's own time is on one line, where it calls no
 * Python code and, as far as samples of native code say, the interpreter is not at work.  Such a
 * line drops large memory, or calls native code.
 */
bool host_may_unmap(const struct finding_builder *d, const struct time_cause *c);
/* Claims the first, of the classes that it is in. */
void host_claim(struct finding_builder *d, enum host_kind kind);

/* Time of a class on lines that also wait, for at least half as long. */
double waiting_lines_ms(const struct finding_builder *d, enum time_class what,
			enum time_class wait);

/* The line with most time in the function with most; NULL: none. */
const struct time_cause *host_top(const struct finding_builder *d, enum host_kind kind);

/* Without a model's work there is nothing that data would be prepared for: never certain then. */
void host_doubt_purpose(struct finding_builder *d);

/* Is it the host's although it is inside of a model? */
bool host_is_inside(const struct finding_builder *d, const struct time_cause *c);

/* Without a GPU: is it time in a model, or in operators that the user's code calls by itself? */
bool host_is_model(const struct finding_builder *d, const struct time_cause *c);

/* The kernel's samples of native code while the steps lasted, by what they are at. */
struct native_sums {
	uint64_t samples[NATIVE_KINDS];
	uint64_t known;     /* all but NATIVE_ANYBODYS */
	uint64_t evaluates; /* of NATIVE_PYTHON, where Python code is executed */
};

/* Those with this innermost function of Python's. */
void native_sums_add(struct native_sums *n, const struct finding_builder *d, const struct place *p);
/* Those with a framework's as the innermost function of Python's, whoever calls it. */
void native_sums_add_frameworks(struct native_sums *n, const struct finding_builder *d);
/*
 * Samples of the interpreter at work on Python code: none if native code of others, which calls
 * functions of the interpreter (Cython's does), was there instead.
 */
uint64_t native_interpreted(const struct native_sums *n);
bool native_is_enough(const struct native_sums *n); /* to conclude anything */

/* Which waits are for input: a queue or a loader that somebody fills. */

bool wait_is_for_input(const struct finding_builder *d, const struct time_cause *c);

/* The time of the causes of a class that are, or are not, for input; per step. */
double wait_ms(const struct finding_builder *d, enum time_class what, bool for_input);
/* The largest of them; NULL: none. */
const struct time_cause *wait_cause(const struct finding_builder *d, enum time_class what,
				    bool for_input);

/* What a step waits for PyTorch's DataLoader, by the agent's scopes of it; 0: not at all. */
double loader_wait_ms(const struct finding_builder *d);

/*
 * What operators cost beside their work, in a process without a GPU: there nothing waits for a
 * launch, but each operator takes the host some microseconds whatever its size, and a program of
 * small ones spends its time on the way to them.
 */

struct operator_cost {
	double ms;                    /* of a step */
	double compute_ms;            /* of it: TIME_CPU_COMPUTE; the rest is in the user's code */
	double dispatch_ms;           /* of it, outside of kernels */
	struct native_sums native;    /* by which that is known; of the heaviest function */
	const struct time_cause *top; /* the user's line with most of it; NULL: there is none */
};

/* The user's functions whose operators take longer to be called than to compute. */
void operator_cost_find(struct operator_cost *out, const struct finding_builder *d);

/* What kernels do, by their names: advice depends on it. */
enum kernel_kind {
	KERNELS_OTHER, /* nothing is known */
	KERNELS_MATRIX,
	KERNELS_CONVOLUTION,
	KERNELS_ATTENTION,
	KERNELS_ELEMENTS, /* element by element, or sums of them: the memory is what they wait for
			   */
	KERNELS_MOVE,
	KERNELS_INDEX,
	KERNELS_SORT,
	KERNELS_RANDOM,
	KERNELS_FFT,
	KERNEL_KINDS
};

enum kernel_kind kernel_kind(const char *full_name);
/* Those with most time of a process' kernels, and their share of it. */
enum kernel_kind kernel_kind_of_most(const struct gpu_section *s, double *share);

/* All that is inside of models; nothing is known of dispatch_ms where samples are few: 0. */
void operator_cost_of_models(struct operator_cost *out, const struct finding_builder *d);

#endif
