import { parseArgs } from 'node:util';

/** The help of `npm run bench`. */
export const USAGE = `Usage: npm run bench -- [options]

Prints units, requests, round trips, dollars and messages a second for each operation,
batch size and kind of body, the same for topics, what partitions add, and evaluations
of filters a second, and writes them to bench/RESULTS.md.

  --quick         small bodies, at most 100 subscriptions and short measurements only;
                  RESULTS.md is left as it is
  --amqp          what the official client costs and how fast it is, and nothing else; the
                  other sections of RESULTS.md are left as they are
  --idle          what AMQP receivers cost that wait on empty queues, and nothing else; RESULTS.md
                  is left as it is
  --connect       what the official client costs in the process of its AMQP surface, and nothing
                  else; the other sections of RESULTS.md are left as they are
  --competing     how processes that compete for one queue empty it, and nothing else; the
                  other sections of RESULTS.md are left as they are
  --messages N    with --competing: the number of messages in the queue (2000)
  --singles       what calls of one message cost and how fast they are when many clients make
                  them at once, in memory and with data in a folder, and nothing else; the other
                  sections of RESULTS.md are left as they are
  --peers [DIR]   RabbitMQ, pg-boss on PostgreSQL and BullMQ on Redis beside dynabus, those that
                  are installed, and nothing else; the other sections of RESULTS.md are left as
                  they are. Their servers are looked up on PATH, and started with data of their
                  own; DIR, or the variable DYNABUS_PEERS, is a folder with their node packages:
                  npm i --prefix DIR pg-boss amqplib bullmq ioredis
  --costs         what the cost tables of docs/cost.md are computed from, and writes those tables;
                  --quick computes them from what the last run has measured
  --management    what it costs to create, list and count among few and many entities and messages,
                  and nothing else; the other sections are left as they are
  --declare       how fast a stack of 300 entities is created and deleted, and what that costs, and
                  nothing else; the other sections are left as they are
  --push          what messages cost that are pushed to functions, and how fast they arrive, and
                  nothing else; the other sections are left as they are
  --explorer      how fast the explorer shows a large namespace, and nothing else; the other
                  sections are left as they are; needs Chromium
  --install       what an install of the package takes, and how fast a namespace starts from it,
                  and nothing else; the other sections are left as they are
  --hostile       what an honest client sees of a gateway under attack, and nothing else; the
                  other sections are left as they are; exits with 1 if it is served too slowly
  --simulate      throughput, latencies and dollars at scale, computed in virtual time, and nothing
                  else; writes docs/scale.md, and takes about ten minutes; --quick prints a
                  few rows only
  --partitions    what partitions add, and nothing else; RESULTS.md is left as it is
  --corpus FILE   measures real bodies as well, one JSON document a line
  --engine NAME   dynamodb-local or dynoxide; without it the first that can run here
  --cpu-prof DIR  leaves a processor profile of the server there
`;

/** Whether the code of an error says that the command line is wrong. */
export function isArgumentFault(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS');
}

/** The options of `npm run bench`. */
export type BenchOptions = ReturnType<typeof parseOptions>;

/** Reads the command line. Throws an error for which `isArgumentFault` holds. */
export function parseOptions() {
  const { values, positionals } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      amqp: { type: 'boolean', default: false },
      idle: { type: 'boolean', default: false },
      connect: { type: 'boolean', default: false },
      competing: { type: 'boolean', default: false },
      singles: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      hostile: { type: 'boolean', default: false },
      messages: { type: 'string' },
      costs: { type: 'boolean', default: false },
      management: { type: 'boolean', default: false },
      declare: { type: 'boolean', default: false },
      push: { type: 'boolean', default: false },
      explorer: { type: 'boolean', default: false },
      install: { type: 'boolean', default: false },
      simulate: { type: 'boolean', default: false },
      partitions: { type: 'boolean', default: false },
      corpus: { type: 'string' },
      engine: { type: 'string' },
      'cpu-prof': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  });
  const [directory, ...more] = positionals;
  if (more.length > 0 || (directory !== undefined && !values.peers)) {
    throw new UnexpectedArgumentError(`Unexpected argument '${more[0] ?? directory}'.`);
  }
  return { ...values, peerPackages: directory ?? (process.env['DYNABUS_PEERS'] || undefined) };
}

class UnexpectedArgumentError extends Error {
  readonly code = 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL';
}
