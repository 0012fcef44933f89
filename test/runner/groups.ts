/** Which engine a test process uses: the reference engine (`judge`), or the faster one (`quick`). */
export type EngineRole = 'judge' | 'quick';

/** Test files that share a process. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly engine: EngineRole;
  /** Whether its process mostly waits for processes that it starts. */
  readonly waits: boolean;
}

interface Folder {
  /** The beginning of the paths of its files. */
  readonly prefix: string;
  readonly filesPerProcess: number;
  readonly engine: EngineRole;
  readonly waits?: boolean;
}

/**
 * In the order in which they start, except that those that wait alternate with the others: the longest first,
 * because at the end the other cores are idle. A process costs about a second of processor time before its
 * code is warm, so most files share one; files that take long, or start processes, have one each. DynamoDB
 * Local, whose answers decide, serves the specs, the simulation and all folders without a row; in the others the faster
 * engine saves time. `npm run test:more` swaps the two.
 */
const FOLDERS: readonly Folder[] = [
  { prefix: 'test/local/npm-start', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/interop/restart/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/local/', filesPerProcess: 1, engine: 'quick', waits: true },
  // They share one tarball.
  { prefix: 'test/packed/', filesPerProcess: 20, engine: 'quick', waits: true },
  { prefix: 'test/interop/gateway/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/interop/proxy/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/simulation/', filesPerProcess: 4, engine: 'judge' },
  { prefix: 'test/spec/', filesPerProcess: 14, engine: 'judge' },
  { prefix: 'test/hostile/', filesPerProcess: 8, engine: 'quick' },
  { prefix: 'test/model/', filesPerProcess: 4, engine: 'quick' },
  // Streams as the reference engine has them.
  { prefix: 'test/processes/push/', filesPerProcess: 2, engine: 'judge' },
  { prefix: 'test/processes/', filesPerProcess: 1, engine: 'quick' },
  { prefix: 'test/interop/', filesPerProcess: 6, engine: 'quick' },
  { prefix: 'test/explorer/', filesPerProcess: 7, engine: 'quick', waits: true },
  { prefix: 'test/cdk/', filesPerProcess: 10, engine: 'quick' },
  { prefix: 'test/', filesPerProcess: 14, engine: 'judge' },
];

/** Tests that fill the tables, and so do not share a process with tests that read whole tables. */
const FILLING =
  /\/(answer-\w[\w-]*|budgets|competing-receivers|full-entities|partitions-full)\.test\.ts$/;

/** Divides files (paths from the root of the repository) among processes. */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const groups: Group[] = [];
  let left = files;
  for (const one of FOLDERS) {
    const inFolder = left.filter((file) => file.startsWith(one.prefix));
    left = left.filter((file) => !inFolder.includes(file));
    groups.push(...divide(one, inFolder));
  }
  const waiting = groups.filter(({ waits }) => waits);
  const others = groups.filter(({ waits }) => !waits);
  return Array.from({ length: Math.max(waiting.length, others.length) }, (_, i) => [
    ...others.slice(i, i + 1),
    ...waiting.slice(i, i + 1),
  ]).flat();
}

/** Neighbouring files take about the same time, so they are dealt to different processes. */
function divide(
  { prefix, filesPerProcess, engine, waits = false }: Folder,
  files: readonly string[],
): Group[] {
  const filling = files.filter((file) => FILLING.test(file));
  const others = files.filter((file) => !filling.includes(file));
  const deal = (dealt: readonly string[]) => {
    const count = Math.ceil(dealt.length / filesPerProcess);
    return Array.from({ length: count }, (_, group) => {
      const dealtHere = dealt.filter((_, i) => i % count === group);
      const [name = prefix] = filesPerProcess === 1 ? dealtHere : [];
      return { name, files: dealtHere, engine, waits };
    });
  };
  return [...deal(filling), ...deal(others)];
}
