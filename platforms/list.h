/* Every platform that is built in: one line each, the only list. */
PLATFORM(console)
PLATFORM(telegram)
