/* `analyze FOLDER`: the traces of the ranks of one run. */
#ifndef CLI_RANKS_FOLDER_H
#define CLI_RANKS_FOLDER_H

#include "cli/report_output.h"

/*
 * A report with a section for each trace of a folder and a comparison; with --rank that trace's
 * report alone.  Files that are no traces are named in a note.  -1: there is no trace, or not that
 * rank, or a report could not be written.
 */
int ranks_folder_report(struct report_output *f, const char *folder, bool *fired, struct err *err);

#endif
