/* clock.h -- the clock by which analyses are timed. */
#ifndef SPTI_CORE_BASE_CLOCK_H
#define SPTI_CORE_BASE_CLOCK_H

double spti_seconds(void); /* monotonic, since some moment in the past */

#endif
