/* links: is_analyze is_report */
/* Which folder paths are told from, and what is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/source_root.h"
#include "report/plain_text.h"

static void expect_root(const char *script, const char *cwd, const char *root)
{
	const char *command[] = { "/venv/bin/python3", "-u", script, "--model", "m.py" };
	char *found;

	assert_int_equal(source_root(&found, command, script ? 3 : 2, cwd), 0);
	if (root)
		assert_string_equal(found, root);
	else
		assert_null(found);
	free(found);
}

static void it_is_the_working_directory_where_the_script_lies_in_it(void **state)
{
	(void)state;
	expect_root("serve.py", "/srv/app", "/srv/app");
	expect_root("bin/serve.py", "/srv/app", "/srv/app");
	expect_root("./x/../serve.py", "/srv/app", "/srv/app");
	expect_root("/srv/app/bin/serve.py", "/srv/app/", "/srv/app/");
	expect_root(NULL, "/srv/app", "/srv/app"); /* python3 -m something */
	expect_root("serve", "/srv/app", "/srv/app");
}

static void it_is_the_folder_of_a_script_that_lies_elsewhere(void **state)
{
	(void)state;
	expect_root("/srv/app/bin/serve.py", "/home/ada", "/srv/app/bin");
	expect_root("/srv/app/serve.py", "/srv/ap", "/srv/app");
	expect_root("../lib/serve.py", "/srv/app", "/srv/lib");
	expect_root("../../../../serve.py", "/srv/app", "");
	expect_root("/srv/app/serve.py", NULL, "/srv/app");
	expect_root("/srv/app/serve.py", "/", "/srv/app"); /* all paths lie below that one */
	expect_root("serve.py", NULL, NULL);
}

static void an_installed_script_is_not_the_users(void **state)
{
	(void)state;
	expect_root("/venv/lib/python3.12/site-packages/torch/distributed/run.py", "/srv/app",
		    "/srv/app");
}

static void files_of_one_name_stay_apart(void **state)
{
	const char *root = "/srv/app/bin";

	(void)state;
	assert_string_equal(text_short_path("/srv/app/bin/utils.py", root), "utils.py");
	assert_string_equal(text_short_path("/srv/app/bin/model/utils.py", root), "model/utils.py");
	assert_string_equal(text_short_path("/srv/app/utils.py", root), "/srv/app/utils.py");
	assert_string_equal(text_short_path("/srv/app/bin2/utils.py", root),
			    "/srv/app/bin2/utils.py");
	assert_string_equal(text_short_path("/v/lib/python3.12/site-packages/a/utils.py", root),
			    "a/utils.py");
	assert_string_equal(text_short_path("/utils.py", ""), "/utils.py");
}

static void expect_command(const char *command, const char *shown)
{
	struct buf out;

	buf_init(&out);
	text_add_command(&out, command, "/srv/app");
	assert_string_equal(buf_string(&out), shown);
	buf_release(&out);
}

static void a_command_is_told_without_folders(void **state)
{
	(void)state;
	expect_command("/opt/venv/bin/python3 /srv/app/bin/serve.py --port 80",
		       "python3 bin/serve.py --port 80");
	expect_command("python3 '/srv/app/a b.py'  x", "python3 '/srv/app/a b.py'  x");
	expect_command("/bin/sh -c /etc/run", "sh -c /etc/run");
	expect_command("", "");
	expect_command(" /x/y", " /x/y");
	expect_command("/opt/dir/", "/opt/dir/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_working_directory_where_the_script_lies_in_it),
		cmocka_unit_test(it_is_the_folder_of_a_script_that_lies_elsewhere),
		cmocka_unit_test(an_installed_script_is_not_the_users),
		cmocka_unit_test(files_of_one_name_stay_apart),
		cmocka_unit_test(a_command_is_told_without_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
