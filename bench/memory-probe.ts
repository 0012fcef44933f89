/**
 * Preloaded into a server that is measured: tells its parent how much memory it holds. Throws away
 * first what nobody holds any more.
 */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// Whoever asks for nothing must not keep the server alive.
process.channel?.unref();
