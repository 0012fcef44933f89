#!/usr/bin/env node
import { processIo } from './command-line/io.ts';
import { run } from './command-line/program.ts';

/** The command line `dynabus`. */

// Output fails if the terminal is closed or the program behind `|` has ended. A server continues anyway.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.exit(await run(process.argv.slice(2), processIo()));
