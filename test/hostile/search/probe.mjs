// @ts-check
/**
 * Preloaded into a process that is attacked: tells its parent each time the event loop stood still,
 * and answers with what memory it holds. A process that only waited for a core did not stand still,
 * so the delay counts no further than the processor time that its thread took.
 */
import { readFileSync } from 'node:fs';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapCodeStatistics } from 'node:v8';

const TICK_MS = 20;
const STALL_MS = 200;

/** Of the thread that runs the event loop, where the system tells: in hundredths of a second. */
const THREAD = `/proc/self/task/${process.pid}/stat`;
const THREAD_TICK_MS = 10;

let collections = 0;
let at = performance.now();
let processorMs = processorTime();
let residentMax = 0;

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collections += duration;
}).observe({ entryTypes: ['gc'] });

setInterval(() => {
  const now = performance.now();
  const ms = Math.min(now - at - TICK_MS, processorTime() - processorMs);
  if (ms > STALL_MS) {
    // Collections are told of a turn later.
    setImmediate(() => {
      process.send?.({ stallMs: Math.round(ms), collectionMs: Math.round(collections) });
      collections = 0;
    });
  } else {
    collections = 0;
  }
  residentMax = Math.max(residentMax, process.memoryUsage.rss());
  restart();
}, TICK_MS).unref();

process.on('message', (/** @type {{ collect: boolean }} */ { collect }) => {
  if (collect) for (let i = 0; i < 2; i++) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const code = collect ? codeBytes() : 0;
  process.send?.({ heapUsed, external, code, rss, residentMax: Math.max(residentMax, rss) });
  residentMax = 0;
  // What was done here is no fault of the process.
  restart();
});
// Whoever asks for nothing must not keep the process alive.
process.channel?.unref();

function codeBytes() {
  const { code_and_metadata_size: native, bytecode_and_metadata_size: bytecode } =
    getHeapCodeStatistics();
  return native + bytecode;
}

function restart() {
  at = performance.now();
  processorMs = processorTime();
}

/** Processor time so far, ms: of the thread, or of the process where the system does not tell. */
function processorTime() {
  try {
    const told = readFileSync(THREAD, 'utf8');
    const fields = told.slice(told.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * THREAD_TICK_MS;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}
