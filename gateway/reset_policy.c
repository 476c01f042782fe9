#include "gateway/reset_policy.h"

#include <string.h>
#include <time.h>

#define HOUR_S 3600

/* Seconds of the day in local time, and which day, as one number. */
static long long
local_stamp(time_t t)
{
	struct tm tm;

	if (!localtime_r(&t, &tm))
		return 0;
	return ((tm.tm_year * 400LL + tm.tm_yday) * 24 + tm.tm_hour) * HOUR_S +
	    tm.tm_min * 60LL + tm.tm_sec;
}

/* One reading of the wanted time; -1: not this one. */
static time_t
try_time(const struct tm *day, int hour, int dst, long long *ret_stamp)
{
	struct tm tm = { .tm_year = day->tm_year, .tm_mon = day->tm_mon,
		.tm_mday = day->tm_mday, .tm_hour = hour, .tm_isdst = dst };
	time_t t = mktime(&tm);

	*ret_stamp = ((day->tm_year * 400LL + day->tm_yday) * 24 + hour) * HOUR_S;
	return t;
}

/* The first instant of the day at which its clock shows the hour or more. */
static time_t
day_boundary(const struct tm *day, int hour)
{
	long long want;
	time_t a = try_time(day, hour, 0, &want), b = try_time(day, hour, 1, &want);
	time_t first = a < b ? a : b, last = a < b ? b : a;

	if (local_stamp(first) == want)
		return first;
	if (local_stamp(last) == want)
		return last;
	/* In a gap: the clock jumps over it somewhere in these hours. */
	time_t low = first - 3 * HOUR_S, high = last + 3 * HOUR_S;

	while (high - low > 1) {
		time_t middle = low + (high - low) / 2;

		if (local_stamp(middle) >= want)
			high = middle;
		else
			low = middle;
	}
	return high;
}

static msec_t
last_daily(int hour, msec_t now)
{
	time_t t = (time_t)(now / 1000);

	for (int back = 0; back < 3; back++) {
		struct tm day;

		if (!localtime_r(&t, &day))
			return 0;
		/* By the calendar: a day may have 23 or 25 hours. */
		struct tm noon = { .tm_year = day.tm_year, .tm_mon = day.tm_mon,
			.tm_mday = day.tm_mday - back, .tm_hour = 12,
			.tm_isdst = -1 };
		time_t at = mktime(&noon);

		if (!localtime_r(&at, &day))
			return 0;
		at = day_boundary(&day, hour);
		if ((msec_t)at * 1000 <= now)
			return (msec_t)at * 1000;
	}
	return 0;
}

msec_t
reset_boundary(const struct reset_policy *policy, msec_t now)
{
	msec_t idle = policy->idle ? now - policy->idle_ms : 0;
	msec_t daily = policy->daily ? last_daily(policy->at_hour, now) : 0;

	return idle > daily ? idle : daily;
}

const struct reset_policy *
reset_rule(const struct reset_rules *rules, const char *platform,
	enum chat_type type, bool in_thread)
{
	if (rules->platform && strcmp(rules->platform, platform) == 0)
		return &rules->on_platform;
	if (in_thread || type == CHAT_THREAD)
		return rules->has_thread ? &rules->thread : &rules->all;
	if (type == CHAT_DM)
		return rules->has_dm ? &rules->dm : &rules->all;
	return rules->has_group ? &rules->group : &rules->all;
}
