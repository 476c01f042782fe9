/* What every program of figures measures with; values are sorted in place. */
#ifndef GATEHOUSE_TESTS_FIGURE_H
#define GATEHOUSE_TESTS_FIGURE_H

#include <stdlib.h>
#include <time.h>

static inline double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline int
figure_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double
quantile(double *v, size_t n, double q)
{
	qsort(v, n, sizeof(*v), figure_compare);
	size_t i = (size_t)(q * (double)n);
	return v[i < n ? i : n - 1];
}

static inline double
median(double *v, size_t n)
{
	return quantile(v, n, 0.5);
}

#endif
