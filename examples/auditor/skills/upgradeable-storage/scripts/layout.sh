#!/bin/sh
# Prints the storage slots of CONTRACT that differ between two source trees.
set -eu
[ $# -eq 3 ] || { echo "usage: layout.sh OLD NEW CONTRACT" >&2; exit 2; }
slots() {
    (cd "$1" && forge inspect "$2" storage-layout --json) |
        jq -r '.storage[] | "\(.slot)+\(.offset) \(.label) \(.type)"'
}
old=$(mktemp)
trap 'rm -f "$old"' EXIT
slots "$1" "$3" >"$old"
slots "$2" "$3" | diff "$old" -
