#include "agent/python/tasks.h"

#include "agent/python/pyapi.h"

static PyObject *get_running_loop; /* _asyncio._get_running_loop */
static PyObject *current_tasks;    /* _asyncio._current_tasks, a dict by loop (up to 3.13) */
static PyObject *current_task;     /* _asyncio.current_task (3.12 on) where that dict is gone */
static PyObject *module_name;

/* asyncio's C part, once the workload has imported it. */
static bool find_asyncio(void)
{
	PyObject *modules = py_modules(), *module;

	if (!module_name)
		module_name = py.Unicode_Intern("_asyncio");
	module = modules && module_name ? py.Dict_Get(modules, module_name) : NULL;
	if (!module || module == py.None)
		return false;
	current_tasks = py.GetAttr(module, "_current_tasks");
	if (!current_tasks) {
		py.Err_Clear();
		current_task = py.GetAttr(module, "current_task");
	}
	if (current_tasks || current_task)
		get_running_loop = py.GetAttr(module, "_get_running_loop");
	py.Err_Clear();
	return get_running_loop != NULL;
}

uint64_t tasks_current(void)
{
	PyObject *loop, *task = NULL;
	uint64_t id = 0;

	if (!get_running_loop && !find_asyncio())
		return 0;
	loop = py.Call(get_running_loop, NULL);
	if (loop && loop != py.None) {
		if (current_tasks) {
			task = py.Dict_Get(current_tasks, loop); /* borrowed */
			id = (uint64_t)(uintptr_t)task;
		} else {
			task = py.CallWith(current_task, loop, NULL);
			id = task == py.None ? 0 : (uint64_t)(uintptr_t)task;
			py_drop(task);
		}
	}
	py_drop(loop);
	py.Err_Clear();
	return id;
}
