#include "gateway/gate/confirm.h"

#include <string.h>

#include "base/mem.h"

#define FRESH_MS 60000
#define CLOCK_SKEW_MS 5000

/* Lower case. */
static const char *const phrases[] = {
	"confirm forced restart", "confirm forced reboot", "confirm shutdown",
	"confirm reboot", "confirm power off", "confirm wipe",
	"confirm factory reset", "yes, delete everything",
	"確認強制重啟", "確認強制重新啟動", "確認重啟",
};

bool
confirm_is_danger(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (strcasestr(text, phrases[i]))
			return true;
	return false;
}

bool
confirm_is_stale(msec_t said_wall, msec_t now_wall)
{
	return said_wall <= 0 || said_wall > now_wall + CLOCK_SKEW_MS ||
	    now_wall - said_wall > FRESH_MS;
}
