interface LockedPackage {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockFile {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/**
 * The lock file for the engines alone: their entries, with their hashes, from the lock file of the repository.
 * @param manifest the text of `engines/package.json`
 * @param lock the text of the repository's `package-lock.json`
 */
export function lockedEngines(manifest: string, lock: string): string {
  const engines = JSON.parse(manifest) as LockedPackage & { readonly name: string };
  const { lockfileVersion, packages } = JSON.parse(lock) as LockFile;
  const { name, version } = engines;
  const locked: Record<string, LockedPackage> = { '': engines };
  const queue = namesOf(engines);
  // The queue grows while it is walked.
  for (const each of queue) {
    const path = `node_modules/${each}`;
    const entry = packages[path];
    if (entry === undefined) throw new Error(`The lock file has no entry ${path}.`);
    if (locked[path] !== undefined) continue;
    const { dev: _, ...rest } = entry as LockedPackage & { readonly dev?: boolean };
    locked[path] = rest;
    queue.push(...namesOf(entry));
  }
  return `${JSON.stringify({ name, version, lockfileVersion, requires: true, packages: locked }, null, 2)}\n`;
}

function namesOf({ dependencies, optionalDependencies }: LockedPackage): string[] {
  return Object.keys({ ...dependencies, ...optionalDependencies });
}
