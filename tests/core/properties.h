/* properties.h -- what both files of the test share. */
#ifndef TESTS_CORE_PROPERTIES_H
#define TESTS_CORE_PROPERTIES_H

#include "support/oracle.h"

int number_of(const char *variable, int otherwise); /* from the environment */
const char *draw_method(test_random *);             /* a deterministic one of the host, or NULL: auto */

#endif
