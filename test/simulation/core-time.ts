/** The core time of this process, ms, which does not depend on the load of the machine. */
export function coreMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
