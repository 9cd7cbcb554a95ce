/* links: is_capture */
/* Which frameworks ran, by the files of their functions and what an installer left beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "capture/drain/drain_state.h"
#include "format/record.h"
#include "remove_tree.h"
#include "trace_sample.h"

static char packages[64];
static struct frameworks found;

static int enter(void **state)
{
	char folder[] = "/tmp/frameworks-XXXXXX";

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(packages, sizeof(packages), "%s/site-packages", folder);
	return mkdir(packages, 0777);
}

static int leave(void **state)
{
	(void)state;
	frameworks_release(&found);
	*strrchr(packages, '/') = '\0';
	return remove_tree(packages);
}

static void install(const char *entry)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", packages, entry);
	assert_int_equal(mkdir(path, 0777), 0);
}

/* A function of a file below the packages, or of any where it begins with a slash. */
static void run(const char *file)
{
	struct buf payload;

	buf_init(&payload);
	buf_add_varint(&payload, 12);
	buf_add_varint(&payload, 1);
	buf_add_str(&payload, "f");
	if (*file == '/')
		buf_add_str(&payload, file);
	else
		buf_printf(&payload, "%s/%s", packages, file);
	frameworks_note(&found, DEF_CODE, payload.data, payload.len);
	buf_release(&payload);
}

/* The facts, one a line. */
static const char *facts(void)
{
	static char out[256];
	size_t used = 0;
	struct memory_file file;
	struct trace_writer *w;
	struct trace *t;
	struct err err;

	out[0] = '\0';
	memory_file_init(&file);
	must(trace_writer_new(&w, file.fd, &err));
	must(frameworks_write(&found, w, &err));
	must(trace_write_end(w, &(struct trace_end){ 1, 0 }, &err));
	trace_writer_free(w);
	must(trace_open(&t, file.path, &err));
	for (size_t i = 0; i < trace_info_count(t); i++) {
		assert_string_equal(trace_info_key(t, i), "framework");
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s\n",
					 trace_info_value(t, i));
	}
	trace_close(t);
	close(file.fd);
	return out;
}

static void versions_are_what_the_installer_wrote(void **state)
{
	(void)state;
	install("torch-2.11.0+cu130.dist-info");
	install("numpy-1.24.2.egg-info");
	install("Tensorflow_CPU-2.16.1-py3.11.egg-info");
	install("jax-0.4.35.dist-info");
	run("torch/nn/modules/linear.py");
	run("torch/__init__.py");
	run("numpy/core/numeric.py");
	run("tensorflow/python/ops.py");
	assert_string_equal(facts(), "numpy 1.24.2\ntensorflow 2.16.1\ntorch 2.11.0+cu130\n");
}

static void a_package_that_nobody_installed_has_no_version(void **state)
{
	(void)state;
	install("torchvision-0.20.0.dist-info");
	install("torch-.dist-info");
	install("torch.dist-info");
	install("nottorch-1.0.dist-info");
	run("torch/nn/modules/linear.py");
	run("/nowhere/dist-packages/numpy/__init__.py");
	assert_string_equal(facts(), "numpy\ntorch\n");
}

static void other_files_are_none(void **state)
{
	(void)state;
	install("torch-2.0.dist-info");
	run("/srv/app/torch/model.py");
	run("torch.py");
	run("torches/x.py");
	run("mine/torch/x.py");
	run("/");
	frameworks_note(&found, DEF_CODE, "", 0);
	frameworks_note(&found, DEF_CODE, "\x01\x7f", 2);
	frameworks_note(&found, DEF_STRING, "/site-packages/torch/x.py", 25);
	assert_string_equal(facts(), "");
}

/* What a name says is taken for a version only where it looks like one, and is no longer. */
static void names_are_the_workloads_word(void **state)
{
	char entry[256];

	(void)state;
	install("torch-1.0\x1b[31m.dist-info");
	memset(entry, '9', sizeof(entry));
	memcpy(entry, "numpy-", 6);
	strcpy(entry + 200, ".dist-info");
	install(entry);
	install("jax-<b>.dist-info");
	run("torch/x.py");
	run("numpy/x.py");
	run("jax/x.py");
	assert_string_equal(facts(), "jax\nnumpy\ntorch\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(versions_are_what_the_installer_wrote, enter,
						leave),
		cmocka_unit_test_setup_teardown(a_package_that_nobody_installed_has_no_version,
						enter, leave),
		cmocka_unit_test_setup_teardown(other_files_are_none, enter, leave),
		cmocka_unit_test_setup_teardown(names_are_the_workloads_word, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
