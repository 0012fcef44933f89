/**
 * Preloaded into a server that is measured: reports to its parent how much memory the server holds, after a garbage
 * collection.
 */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// The channel to the parent does not keep the server alive.
process.channel?.unref();
