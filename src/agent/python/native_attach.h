/*
 * Joining a recording from a library of the program: CUDA and NVTX load the agent into
 * native programs, and into Pythons that did not do so themselves.
 */
#ifndef AGENT_PYTHON_NATIVE_ATTACH_H
#define AGENT_PYTHON_NATIVE_ATTACH_H

/* 0, or -1: there is none (session_join()).  In a Python process it records that the agent was not
 * loaded. */
int native_attach(void);

#endif
