/* links: is_analyze is_report */
/* Which folder paths are told from, and what is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analysis.h"
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

static void expect_short(const char *file, const char *root, const char *text)
{
	struct buf out;

	buf_init(&out);
	text_add_short_path(&out, file, root);
	assert_string_equal(buf_string(&out), text);
	buf_release(&out);
}

/* "python3 ../serve.py" makes Python tell the script's file with the "..". */
static void a_file_has_one_name_whichever_way_leads_to_it(void **state)
{
	(void)state;
	expect_short("/srv/app/odd/../serve.py", "/srv/app", "serve.py");
	expect_short("/srv/app/./lib//odd/../utils.py", "/srv/app", "lib/utils.py");
	expect_short("/srv/app/../other/serve.py", "/srv/app", "/srv/other/serve.py");
	expect_short("/v/site-packages/a/../b/c.py", "/srv/app", "b/c.py");
	expect_short("/../serve.py", "/srv", "/serve.py");
	expect_short("./serve.py", "/srv/app", "serve.py");
	expect_short("a/../../x/./serve.py", NULL, "../x/serve.py");
	expect_short("../../serve.py", NULL, "../../serve.py");
	expect_short("a/..", NULL, ".");
	expect_short("/a/..", NULL, "/");
	expect_short("/srv/..a/.b/c..py", "/srv", "..a/.b/c..py");
	expect_short("memory://a//b", "/srv", "memory://a//b");
	expect_short("", "/srv", "");
}

static void files_of_one_name_stay_apart(void **state)
{
	const char *root = "/srv/app/bin";

	(void)state;
	expect_short("/srv/app/bin/utils.py", root, "utils.py");
	expect_short("/srv/app/bin/model/utils.py", root, "model/utils.py");
	expect_short("/srv/app/utils.py", root, "/srv/app/utils.py");
	expect_short("/srv/app/bin2/utils.py", root, "/srv/app/bin2/utils.py");
	expect_short("/v/lib/python3.12/site-packages/a/utils.py", root, "a/utils.py");
	expect_short("/utils.py", "", "/utils.py");
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
	expect_command("python3 /srv/app/odd/../serve.py ../in ./out",
		       "python3 serve.py ../in ./out");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_working_directory_where_the_script_lies_in_it),
		cmocka_unit_test(it_is_the_folder_of_a_script_that_lies_elsewhere),
		cmocka_unit_test(an_installed_script_is_not_the_users),
		cmocka_unit_test(a_file_has_one_name_whichever_way_leads_to_it),
		cmocka_unit_test(files_of_one_name_stay_apart),
		cmocka_unit_test(a_command_is_told_without_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
