#!/bin/sh
# Runs a command, for example the tests of a Python or Go project, with a namespace of its own:
#
#   ./with-dynabus.sh Config.json pytest
#
# The command finds the connection string in DYNABUS_CONNECTION_STRING and the address in DYNABUS_URL. The
# namespace has the entities of the file, and ends with the command. The exit code is that of the command.
set -eu
config=$1
shift

directory=$(mktemp -d)
ready="$directory/ready.json"
npx dynabus start --config "$config" --port 0 --ready-file "$ready" --quiet >"$directory/log" 2>&1 &
server=$!
end() {
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  rm -rf "$directory"
}
trap end EXIT

until [ -f "$ready" ]; do
  if ! kill -0 "$server" 2>/dev/null; then
    cat "$directory/log" >&2
    exit 1
  fi
  sleep 0.1
done

field() {
  node -p 'JSON.parse(require("node:fs").readFileSync(process.argv[1]))[process.argv[2]]' "$ready" "$1"
}
DYNABUS_CONNECTION_STRING=$(field connectionString)
DYNABUS_URL=$(field url)
export DYNABUS_CONNECTION_STRING DYNABUS_URL
"$@"
