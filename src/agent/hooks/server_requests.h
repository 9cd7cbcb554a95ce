/*
 * Requests that servers handle, as scopes named after the library (format/request_scopes.h).
 *
 * The functions that a request, or a piece of work of a pool, begins and ends with are known by
 * file and name.  From 3.12 on their calls are watched (watched_functions.h) and the program has
 * nothing of ours in it.  Before, calls are recorded only part of the time: there such functions
 * are replaced, once their module is imported, by ones that open a scope around them
 * (python/inferscope/_served.py), as tracing libraries do it.
 */
#ifndef AGENT_HOOKS_SERVER_REQUESTS_H
#define AGENT_HOOKS_SERVER_REQUESTS_H

/* Before 3.12, when a recording begins and ends; with the GIL. */
void server_requests_start(void);
void server_requests_stop(void);

#endif
