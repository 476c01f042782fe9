#!/bin/sh
# Makes ./configure from configure.ac.
set -e
cd "$(dirname "$0")"
mkdir -p m4
exec autoreconf -fi
