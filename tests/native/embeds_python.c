/*
 * A native program with a Python inside: joins the recording on its own, then
 * the interpreter's start-up shim finds it joined.  Loads the libpython that the
 * first argument names; the second is the program to run.
 */
#include <inferscope.h>

#include <dlfcn.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *python = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	void (*initialize)(void);
	int (*run)(const char *);
	void *symbols[2];
	inferscope_scope s = inferscope_begin("native start");
	int status;

	if (!python)
		return 2;
	symbols[0] = dlsym(python, "Py_Initialize");
	symbols[1] = dlsym(python, "PyRun_SimpleString");
	if (!symbols[0] || !symbols[1])
		return 3;
	memcpy(&initialize, &symbols[0], sizeof(initialize));
	memcpy(&run, &symbols[1], sizeof(run));
	initialize();
	inferscope_end(s);
	status = run(argv[2]);
	inferscope_mark("python ran");
	return status;
}
