#!/bin/sh
set -eu
. ci/lib.sh
same "$(cat state.txt)" good
