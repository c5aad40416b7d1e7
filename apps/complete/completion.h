/* completion.h -- completion scripts for bash, zsh and fish, written from the option tables that argp parses.
 *
 * `arg` of an option says what its value is: names separated by | are offered; FILE is a file, METHOD a method and SYSTEM a system of this
 * build; any other text only names the value. `doc` is shown beside the option; it has none of the characters ' : [ ].
 */
#ifndef APPS_COMPLETE_COMPLETION_H
#define APPS_COMPLETE_COMPLETION_H

#include <argp.h>

typedef enum { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH } completion_shell;

/* Prints the script of a program, whose options stand in two tables, to stdout. */
void completion_print(completion_shell, const char *program, const struct argp_option *const tables[2]);

#endif
