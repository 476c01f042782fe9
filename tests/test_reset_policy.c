/* Case C127: each day resets once, also when the clock jumps over the hour. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "gateway/reset_policy.h"

#define MINUTE 60000LL

static void
zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

/* "2026-03-08 07:00" in UTC. */
static msec_t
utc(const char *text)
{
	struct tm tm = { 0 };

	assert_non_null(strptime(text, "%Y-%m-%d %H:%M", &tm));
	return (msec_t)timegm(&tm) * 1000;
}

static void
the_boundary_is_an_instant_of_its_own_day(void **state)
{
	static const struct {
		const char *zone;
		int hour;
		const char *now, *boundary;	/* UTC */
	} cases[] = {
		{ "UTC", 4, "2026-05-02 04:00", "2026-05-02 04:00" },
		{ "UTC", 4, "2026-05-02 03:59", "2026-05-01 04:00" },
		/* New York, spring: 02:00 does not exist on March 8. */
		{ "America/New_York", 2, "2026-03-08 06:00", "2026-03-07 07:00" },
		{ "America/New_York", 2, "2026-03-08 06:59", "2026-03-07 07:00" },
		{ "America/New_York", 2, "2026-03-08 07:00", "2026-03-08 07:00" },
		{ "America/New_York", 2, "2026-03-09 05:59", "2026-03-08 07:00" },
		{ "America/New_York", 2, "2026-03-09 06:00", "2026-03-09 06:00" },
		/* Autumn: 01:00 comes twice on November 1; the first counts. */
		{ "America/New_York", 1, "2026-11-01 05:00", "2026-11-01 05:00" },
		{ "America/New_York", 1, "2026-11-01 06:30", "2026-11-01 05:00" },
		{ "America/New_York", 1, "2026-11-02 05:59", "2026-11-01 05:00" },
		{ "America/New_York", 1, "2026-11-02 06:00", "2026-11-02 06:00" },
		/* Lord Howe moves by half an hour: 02:00 becomes 02:30. */
		{ "Australia/Lord_Howe", 2, "2026-10-03 15:29", "2026-10-02 15:30" },
		{ "Australia/Lord_Howe", 2, "2026-10-03 15:30", "2026-10-03 15:30" },
		{ "Australia/Lord_Howe", 2, "2026-10-04 15:00", "2026-10-04 15:00" },
		/* Nuuk jumps on Saturday night from 23:00 to 24:00. */
		{ "America/Nuuk", 23, "2026-03-29 00:30", "2026-03-28 01:00" },
		{ "America/Nuuk", 23, "2026-03-29 01:00", "2026-03-29 01:00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct reset_policy policy = { .daily = true,
			.at_hour = cases[i].hour };

		zone(cases[i].zone);
		msec_t got = reset_boundary(&policy, utc(cases[i].now));

		if (got != utc(cases[i].boundary))
			fail_msg("%s %d h, now %s: off by %lld min",
			    cases[i].zone, cases[i].hour, cases[i].now,
			    (long long)(got - utc(cases[i].boundary)) / MINUTE);
	}
}

/* All year round: never back, once a day, 22 to 26 h apart. */
static void
every_day_has_one_boundary(void **state)
{
	static const char *const zones[] = { "UTC", "America/New_York",
		"Australia/Lord_Howe", "America/Nuuk", "Europe/Berlin",
		"Pacific/Apia" };

	(void)state;
	for (size_t z = 0; z < ARRAY_LEN(zones); z++) {
		zone(zones[z]);
		for (int hour = 0; hour < 24; hour += hour < 3 ? 1 : 5) {
			struct reset_policy policy = { .daily = true,
				.at_hour = hour };
			msec_t last = 0;

			for (msec_t now = utc("2026-01-01 00:00");
			    now < utc("2027-01-10 00:00"); now += 350 * MINUTE) {
				msec_t at = reset_boundary(&policy, now);

				assert_true(at <= now && at >= last);
				if (last > 0 && at != last)
					assert_true(at - last >= 22 * 60 * MINUTE &&
					    at - last <= 26 * 60 * MINUTE);
				last = at;
			}
		}
	}
}

static void
idle_and_both_take_the_later_instant(void **state)
{
	struct reset_policy p = { .idle = true, .idle_ms = 60 * MINUTE };
	msec_t now = utc("2026-05-02 12:00");

	(void)state;
	zone("UTC");
	assert_int_equal(reset_boundary(&p, now), now - 60 * MINUTE);
	p.daily = true;
	p.at_hour = 4;
	assert_int_equal(reset_boundary(&p, now), now - 60 * MINUTE);
	p.idle_ms = 24 * 60 * MINUTE;
	assert_int_equal(reset_boundary(&p, now), utc("2026-05-02 04:00"));
	p.idle = p.daily = false;
	assert_int_equal(reset_boundary(&p, now), 0);
}

static void
the_platform_decides_before_the_kind_of_chat(void **state)
{
	struct reset_rules r = { .all.at_hour = 1, .dm.at_hour = 2,
		.group.at_hour = 3, .thread.at_hour = 4, .on_platform.at_hour = 5 };

	(void)state;
	assert_int_equal(reset_rule(&r, "telegram", CHAT_DM, false)->at_hour, 1);
	assert_int_equal(reset_rule(&r, "telegram", CHAT_DM, true)->at_hour, 1);
	r.has_dm = r.has_group = r.has_thread = true;
	assert_int_equal(reset_rule(&r, "telegram", CHAT_DM, false)->at_hour, 2);
	assert_int_equal(reset_rule(&r, "telegram", CHAT_GROUP, false)->at_hour, 3);
	assert_int_equal(reset_rule(&r, "telegram", CHAT_FORUM, true)->at_hour, 4);
	assert_int_equal(reset_rule(&r, "telegram", CHAT_THREAD, false)->at_hour, 4);
	r.platform = "telegram";
	assert_int_equal(reset_rule(&r, "telegram", CHAT_FORUM, true)->at_hour, 5);
	assert_int_equal(reset_rule(&r, "console", CHAT_DM, false)->at_hour, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_boundary_is_an_instant_of_its_own_day),
		cmocka_unit_test(every_day_has_one_boundary),
		cmocka_unit_test(idle_and_both_take_the_later_instant),
		cmocka_unit_test(the_platform_decides_before_the_kind_of_chat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
