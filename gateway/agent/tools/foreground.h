/*
 * Commands that make no sense in the foreground: servers and watchers, which
 * never end, and what shells have for leaving something behind, which ends with
 * the command here.  No gate: a guess that saves the model a time-out.  Pure.
 */
#ifndef GATEHOUSE_FOREGROUND_H
#define GATEHOUSE_FOREGROUND_H

/* What the model must do instead; NULL: the command may run. */
const char *foreground_fault(const char *command);

#endif
