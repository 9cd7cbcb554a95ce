/* The C half of annotated.cpp; alone, with -shared, a library that Python loads. */
#include <inferscope.h>

int annotated_attach(void);
int annotated_part(int n);

int annotated_attach(void)
{
	return inferscope_attach();
}

int annotated_part(int n)
{
	INFERSCOPE_SCOPE("part");
	for (int i = 0; i < n; i++) {
		INFERSCOPE_SCOPE("turn");
		inferscope_counter("turns", i);
	}
	return n;
}
