#include "agent/hooks/server_requests.h"

#include <string.h>

#include "agent/core/session.h"
#include "agent/python/adapter.h"
#include "agent/python/frames.h"
#include "agent/python/pyapi.h"
#include "agent/python/tasks.h"
#include "agent/python/text.h"
#include "base/varint.h"
#include "agent/torch/model_calls.h"
#include "format/request_scopes.h"

/*
 * Open requests, by the frame of the function that handles each: a coroutine keeps its frame's
 * address from its call to its return, in whichever order tasks take turns.  With the GIL.  A
 * request whose end was not reported (an exception) makes room when its place is needed.
 */
#define OPEN_PLACES 1024u /* a power of two: requests in flight, about */
#define OPEN_NEAR 8u      /* places that a frame may have */

struct open_request {
	const void *frame; /* NULL: free */
	uint64_t instance;
	uint32_t name_id;
	uint32_t epoch; /* the recording that it is open in */
};

static struct open_request open_requests[OPEN_PLACES];

static struct open_request *place_of(const void *frame, unsigned i)
{
	uint64_t hash = ((uint64_t)(uintptr_t)frame >> 4) * 0x9e3779b97f4a7c15u;

	return &open_requests[((hash >> 40) + i) & (OPEN_PLACES - 1)];
}

/* NULL: it is not open. */
static struct open_request *find_open(const void *frame)
{
	for (unsigned i = 0; i < OPEN_NEAR; i++) {
		struct open_request *o = place_of(frame, i);

		if (o->frame == frame && o->epoch == session_epoch)
			return o;
	}
	return NULL;
}

/* Its own, else a free one, else the one whose request began first. */
static struct open_request *take_place(const void *frame)
{
	struct open_request *oldest = find_open(frame);

	for (unsigned i = 0; !oldest && i < OPEN_NEAR; i++) {
		struct open_request *o = place_of(frame, i);

		if (!o->frame || o->epoch != session_epoch)
			return o;
	}
	for (unsigned i = 0; !oldest || i < OPEN_NEAR; i++) {
		struct open_request *o = place_of(frame, i);

		if (!oldest || (oldest->frame != frame && o->instance < oldest->instance))
			oldest = o;
	}
	return oldest;
}

static void request_begins(struct ring *r, PyObject *name)
{
	const void *frame = frames_newest().frame;
	uint8_t payload[2 * VARINT_MAX];
	struct open_request *o;
	size_t n;

	if (!frame || !name)
		return;
	o = take_place(frame);
	*o = (struct open_request){ frame, session_next_instance(r), names_id(r, name),
				    session_epoch };
	n = varint_put(payload, o->instance);
	n += varint_put(payload + n, tasks_current());
	ring_push_payload(r, RECORD_SCOPE_BEGIN, o->name_id, payload, (uint32_t)n);
}

static void request_ends(struct ring *r)
{
	const void *frame = frames_newest().frame;
	struct open_request *o = frame ? find_open(frame) : NULL;
	uint8_t payload[VARINT_MAX];

	if (!o)
		return;
	o->frame = NULL;
	ring_push_payload(r, RECORD_SCOPE_END, o->name_id, payload,
			  (uint32_t)varint_put(payload, o->instance));
}

/*
 * X(end of the file, qualified name, scope, contained).  Contained: it handles all exceptions
 * itself, so that a wrapper around it appears in no traceback and in no warning: only such
 * functions are wrapped before 3.12.
 */
#define SERVED(X)                                                                                  \
	X("uvicorn/protocols/http/h11_impl.py", "RequestResponseCycle.run_asgi",                   \
	  REQUEST_SCOPES "uvicorn", true)                                                          \
	X("uvicorn/protocols/http/httptools_impl.py", "RequestResponseCycle.run_asgi",             \
	  REQUEST_SCOPES "uvicorn", true)                                                          \
	X("hypercorn/asyncio/task_group.py", "_handle", REQUEST_SCOPES "hypercorn", true)          \
	X("gunicorn/workers/sync.py", "SyncWorker.handle", REQUEST_SCOPES "gunicorn", true)        \
	X("gunicorn/workers/gthread.py", "ThreadWorker.handle", REQUEST_SCOPES "gunicorn", true)   \
	X("gunicorn/workers/base_async.py", "AsyncWorker.handle_request",                          \
	  REQUEST_SCOPES "gunicorn", false)                                                        \
	X("waitress/channel.py", "HTTPChannel.service", REQUEST_SCOPES "waitress", true)           \
	X("cheroot/server.py", "HTTPRequest.respond", REQUEST_SCOPES "cheroot", false)             \
	X("wsgiref/handlers.py", "BaseHandler.run", REQUEST_SCOPES "wsgiref", true)                \
	X("werkzeug/serving.py", "WSGIRequestHandler.run_wsgi", REQUEST_SCOPES "werkzeug", true)   \
	X("flask/app.py", "Flask.wsgi_app", REQUEST_SCOPES "Flask", false)                         \
	X("bottle.py", "Bottle.wsgi", REQUEST_SCOPES "Bottle", false)                              \
	X("falcon/app.py", "App.__call__", REQUEST_SCOPES "Falcon", false)                         \
	X("django/core/handlers/wsgi.py", "WSGIHandler.__call__", REQUEST_SCOPES "Django", false)  \
	X("django/core/handlers/asgi.py", "ASGIHandler.handle", REQUEST_SCOPES "Django", false)    \
	X("aiohttp/web_app.py", "Application._handle", REQUEST_SCOPES "aiohttp", false)            \
	X("tornado/web.py", "RequestHandler._execute", REQUEST_SCOPES "Tornado", true)             \
	X("sanic/app.py", "Sanic.handle_request", REQUEST_SCOPES "Sanic", false)                   \
	X("grpc/_server.py", "_call_behavior", REQUEST_SCOPES "gRPC", true)                        \
	X("celery/app/trace.py", "build_tracer.<locals>.trace_task", REQUEST_SCOPES "Celery",      \
	  false)                                                                                   \
	X("rq/worker.py", "Worker.perform_job", REQUEST_SCOPES "RQ", true)                         \
	X("rq/worker/base.py", "BaseWorker.perform_job", REQUEST_SCOPES "RQ", true)                \
	X("dramatiq/worker.py", "_WorkerThread.process_message", REQUEST_SCOPES "Dramatiq", true)  \
	X("huey/api.py", "Huey._execute", REQUEST_SCOPES "Huey", false)                            \
	X("arq/worker.py", "Worker.run_job", REQUEST_SCOPES "arq", true)                           \
	X("transformers/generation/utils.py", "GenerationMixin.generate", CALL_SCOPES "generate",  \
	  false)                                                                                   \
	X("transformers/pipelines/base.py", "Pipeline.__call__", CALL_SCOPES "pipeline", false)    \
	X("sentence_transformers/SentenceTransformer.py", "SentenceTransformer.encode",            \
	  CALL_SCOPES "encode", false)                                                             \
	X("sentence_transformers/cross_encoder/CrossEncoder.py", "CrossEncoder.predict",           \
	  CALL_SCOPES "predict", false)                                                            \
	X("ultralytics/engine/model.py", "Model.predict", CALL_SCOPES "predict", false)            \
	X("onnxruntime/capi/onnxruntime_inference_collection.py", "Session.run",                   \
	  CALL_SCOPES "Session.run", false)                                                        \
	X("llama_cpp/llama.py", "Llama.create_completion", CALL_SCOPES "create_completion", false) \
	X("sklearn/pipeline.py", "Pipeline.predict", CALL_SCOPES "predict", false)                 \
	X("sklearn/pipeline.py", "Pipeline.predict_proba", CALL_SCOPES "predict_proba", false)     \
	X("sklearn/ensemble/_forest.py", "ForestClassifier.predict", CALL_SCOPES "predict", false) \
	X("sklearn/ensemble/_forest.py", "ForestClassifier.predict_proba",                         \
	  CALL_SCOPES "predict_proba", false)                                                      \
	X("sklearn/ensemble/_forest.py", "ForestRegressor.predict", CALL_SCOPES "predict", false)  \
	X("sklearn/ensemble/_hist_gradient_boosting/gradient_boosting.py",                         \
	  "HistGradientBoostingClassifier.predict", CALL_SCOPES "predict", false)                  \
	X("sklearn/linear_model/_base.py", "LinearClassifierMixin.predict", CALL_SCOPES "predict", \
	  false)                                                                                   \
	X("sklearn/linear_model/_base.py", "LinearModel.predict", CALL_SCOPES "predict", false)    \
	X("sklearn/neural_network/_multilayer_perceptron.py", "MLPClassifier.predict",             \
	  CALL_SCOPES "predict", false)                                                            \
	X("sklearn/neighbors/_classification.py", "KNeighborsClassifier.predict",                  \
	  CALL_SCOPES "predict", false)                                                            \
	X("xgboost/sklearn.py", "XGBModel.predict", CALL_SCOPES "predict", false)                  \
	X("xgboost/core.py", "Booster.predict", CALL_SCOPES "predict", false)                      \
	X("lightgbm/basic.py", "Booster.predict", CALL_SCOPES "predict", false)                    \
	X("keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.predict",                  \
	  CALL_SCOPES "predict", false)                                                            \
	X("keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.evaluate",                 \
	  CALL_SCOPES "evaluate", false)                                                           \
	X("keras/src/backend/jax/trainer.py", "JAXTrainer.predict", CALL_SCOPES "predict", false)  \
	X("concurrent/futures/thread.py", "_WorkItem.run", WORK_SCOPES "ThreadPoolExecutor", true)

static const struct adapter_function functions[] = {
#define ROW(its_file, its_name, its_scope, is_contained) \
	{ .file = (its_file), .name = (its_name), .scope = (its_scope) },
	SERVED(ROW)
#undef ROW
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static const bool contained[FUNCTIONS] = {
#define ROW(its_file, its_name, its_scope, is_contained) is_contained,
	SERVED(ROW)
#undef ROW
};

static void on_event(struct ring *r, const struct adapter_function *f, uint8_t kind)
{
	static PyObject *names[FUNCTIONS];
	PyObject **name = &names[f - functions];

	if (py.version < 0x030c0000) /* _served.py does this */
		return;
	if (!*name)
		*name = py.Unicode_Intern(f->scope);
	if (kind == RECORD_CALL)
		request_begins(r, *name);
	else if (kind == RECORD_RETURN || kind == RECORD_UNWIND)
		request_ends(r);
}

const struct adapter adapter_requests = {
	.functions = functions,
	.count = FUNCTIONS,
	.event = on_event,
};

/* Before 3.12. */

#define HELPER "inferscope._served"
#define OTHERS_EACH 8u /* events */

static bool audited, wanted, busy;
static PyObject *waiting_for, *install; /* of HELPER: a dict by names of modules; a function */

/* Modules of the functions, as they are imported; done: the helper has dealt with it. */
static struct module {
	PyObject *name; /* NULL: no memory */
	bool done;
} modules[FUNCTIONS];

static void name_modules(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		char name[128];
		size_t n = 0;

		if (modules[i].name)
			continue;
		/* "flask/app.py" -> "flask.app" */
		for (const char *c = functions[i].file; *c && n + 1 < sizeof(name); c++)
			name[n++] = *c;
		name[n > 3 ? n - 3 : 0] = 0;
		for (char *c = name; *c; c++)
			*c = *c == '/' ? '.' : *c;
		modules[i].name = py.Unicode_Intern(name);
		modules[i].done = !contained[i];
	}
	py.Err_Clear();
}

/* Only where there is something for it to do: a program sees what is imported. */
static bool load_helper(void)
{
	PyObject *helper = waiting_for && install ? NULL : py.Import(HELPER);

	if (helper && !waiting_for)
		waiting_for = py.GetAttr(helper, "waiting_for");
	if (helper && !install)
		install = py.GetAttr(helper, "install");
	py_drop(helper);
	py.Err_Clear();
	return waiting_for && install && py_is(waiting_for, py.DictType);
}

/* A module may not be whole yet: the helper waits for it. */
static void install_served_hooks(void)
{
	PyObject *imported = py_modules();
	bool any = false;

	for (size_t i = 0; imported && i < FUNCTIONS; i++)
		any |= !modules[i].done && modules[i].name &&
		       py.Dict_Get(imported, modules[i].name);
	if (!any)
		return;
	busy = true;
	if (load_helper()) {
		py_drop(py.Call(install, NULL));
		py.Err_Clear();
		for (size_t i = 0; i < FUNCTIONS; i++)
			modules[i].done |=
				modules[i].name && !py.Dict_Get(waiting_for, modules[i].name);
	} else {
		wanted = false;
	}
	busy = false;
}

static int on_audit(const char *event, PyObject *args, void *data)
{
	static unsigned others;
	PyObject *type, *value, *traceback;
	bool imports;

	(void)args;
	(void)data;
	if (!wanted || busy || !session_on())
		return 0;
	imports = !strcmp(event, "import");
	/* Classes come into being without an event of their own: any other is an occasion. */
	if (!imports && ++others % OTHERS_EACH)
		return 0;
	py.Err_Fetch(&type, &value, &traceback);
	if (imports)
		install_served_hooks();
	busy = true; /* what we ask for may be audited itself */
	model_calls_find();
	busy = false;
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
	return 0;
}

void server_requests_start(void)
{
	if (py.version >= 0x030c0000)
		return;
	name_modules();
	wanted = true;
	/* It stays for the life of the process: there is no way to take one away. */
	if (!audited)
		audited = !py.AuditHook_Add(on_audit, NULL);
	py.Err_Clear();
	install_served_hooks();
	model_calls_find();
}

void server_requests_stop(void)
{
	wanted = false;
}
