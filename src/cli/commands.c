#include "cli/command.h"

#include <stddef.h>

const struct command *const commands[] = {
	&command_run,
	&command_analyze,
	&command_view,
	&command_diff,
	&command_whatif,
	&command_query,
	&command_export,
	&command_config,
	&command_rules,
	&command_doctor,
	&command_completion,
	&command_record,
	NULL,
};
