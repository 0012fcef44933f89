// @ts-check
/**
 * Preloaded into a process that is attacked: tells its parent each time the event loop stood still,
 * and answers with what memory it holds. A process that only waited for a core did not stand still,
 * so the delay counts no further than the processor time it took.
 */
import { PerformanceObserver, performance } from 'node:perf_hooks';

const TICK_MS = 20;
const STALL_MS = 200;

let collections = 0;
let at = performance.now();
let processor = process.cpuUsage();
let residentMax = 0;

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collections += duration;
}).observe({ entryTypes: ['gc'] });

setInterval(() => {
  const now = performance.now();
  const { user, system } = process.cpuUsage(processor);
  const ms = Math.min(now - at - TICK_MS, (user + system) / 1000);
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
  process.send?.({ heapUsed, external, rss, residentMax: Math.max(residentMax, rss) });
  residentMax = 0;
  // What was done here is no fault of the process.
  restart();
});
// Whoever asks for nothing must not keep the process alive.
process.channel?.unref();

function restart() {
  at = performance.now();
  processor = process.cpuUsage();
}
