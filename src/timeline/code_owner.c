#include "timeline/code_owner.h"

#include <string.h>

#include "timeline/functions.h"

/* Folders of the place where packages are installed; modules without one end with ".py". */
static const char *const hosts[] = {
	/* Web servers and what they are made of. */
	"uvicorn/",
	"gunicorn/",
	"hypercorn/",
	"daphne/",
	"waitress/",
	"starlette/",
	"fastapi/",
	"flask/",
	"werkzeug/",
	"django/",
	"aiohttp/",
	"tornado/",
	"sanic/",
	"litestar/",
	"falcon/",
	"bottle.py",
	"anyio/",
	"uvloop/",
	"h11/",
	"httptools/",
	"asgiref/",
	"gevent/",
	"eventlet/",
	"grpc/",
	"socketio/",
	"websockets/",
	"prometheus_client/",
	/* Model servers and queues. */
	"bentoml/",
	"_bentoml_impl/",
	"_bentoml_sdk/",
	"litserve/",
	"ts/",
	"ray/",
	"celery/",
	"kombu/",
	"billiard/",
	"rq/",
	"dramatiq/",
	"huey/",
	"joblib/",
	"distributed/",
	"dask/",
	"gradio/",
	"streamlit/",
	"chainlit/",
	"modal/",
	/* Notebooks, shells, command lines, tests. */
	"ipykernel/",
	"ipykernel_launcher.py",
	"IPython/",
	"traitlets/",
	"zmq/",
	"jupyter_client/",
	"nbclient/",
	"nbconvert/",
	"papermill/",
	"nest_asyncio.py",
	"click/",
	"typer/",
	"fire/",
	"pytest/",
	"_pytest/",
	"pluggy/",
	"xdist/",
	"execnet/",
	"tqdm/",
	"debugpy/",
	"pydevd",
	"absl/",
	"hydra/",
};

static const char *const installed[] = { "/site-packages/", "/dist-packages/" };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The path below the last folder of packages; NULL: it is in none. */
static const char *package_of(const char *file)
{
	const char *found = NULL;

	for (size_t i = 0; i < COUNT(installed); i++) {
		const char *at = file;

		while ((at = strstr(at, installed[i])) != NULL) {
			at += strlen(installed[i]);
			found = at;
		}
	}
	return found;
}

bool host_code(const char *file)
{
	const char *package = package_of(file);

	for (size_t i = 0; package && i < COUNT(hosts); i++)
		if (!strncmp(package, hosts[i], strlen(hosts[i])))
			return true;
	return false;
}

/* ".../bin/tool", which no editor of Python code would name so. */
static bool is_console_script(const char *file)
{
	const char *name = strrchr(file, '/');

	return name && name - file >= 4 && !memcmp(name - 4, "/bin", 4) && name[1] &&
	       !strchr(name + 1, '.');
}

bool launcher_frame(const char *name, const char *file)
{
	if (!strcmp(file, "<frozen runpy>"))
		return true;
	return !strcmp(name, "<module>") && is_console_script(file);
}

/*
 * Code that dataclasses, named tuples and proxies of remote objects generate has this file.  So
 * have functions of a program behind -c, which are rare.
 */
static bool is_generated(const char *name, const char *file)
{
	return !strcmp(file, "<string>") && strcmp(name, "<module>") != 0;
}

bool user_frame(const char *name, const char *file)
{
	return user_code(file) && !launcher_frame(name, file) && !is_generated(name, file);
}

/*
 * The -c program that multiprocessing starts its processes with, recognized by what it calls.
 */
static bool starts_processes(const struct trace_code *program, const struct trace_code *called)
{
	static const char *const callees[] = {
		"/multiprocessing/spawn.py",
		"/multiprocessing/forkserver.py",
		"/multiprocessing/resource_tracker.py",
	};
	size_t n = called ? strlen(called->file) : 0;

	if (!called || strcmp(program->name, "<module>") || strcmp(program->file, "<string>"))
		return false;
	for (size_t i = 0; i < COUNT(callees); i++)
		if (n >= strlen(callees[i]) &&
		    !strcmp(called->file + n - strlen(callees[i]), callees[i]))
			return true;
	return false;
}

/* Up to the end of the first folder below the place of packages. */
static bool same_package(const char *a, const char *b)
{
	size_t n = strcspn(a, "/");

	return n == strcspn(b, "/") && !strncmp(a, b, n);
}

size_t stack_owner(const struct trace *t, const struct trace_frame *frames, size_t count)
{
	const char *outermost = NULL;
	const struct trace_code *called = NULL;
	size_t known = count, host = count;

	for (size_t i = 0; i < count; i++) {
		const struct trace_code *code = trace_code(t, frames[i].code);

		if (!code)
			continue;
		if (user_frame(code->name, code->file) && !starts_processes(code, called))
			return i;
		called = code;
		if (known == count)
			known = i;
		if (!host_code(code->file) && package_of(code->file))
			outermost = package_of(code->file);
		else if (host == count && package_of(code->file))
			host = i;
	}
	for (size_t i = 0; outermost && i < count; i++) {
		const struct trace_code *code = trace_code(t, frames[i].code);
		const char *package = code ? package_of(code->file) : NULL;

		if (package && same_package(package, outermost))
			return i;
	}
	return host != count ? host : known;
}
