/** Which engine answers a process of tests: the one that decides what is right, or the quicker one. */
export type EngineRole = 'judge' | 'quick';

/** Files of tests that share a process. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly engine: EngineRole;
  /** Whether its process waits most of the time, for processes that it starts. */
  readonly waits: boolean;
}

interface Room {
  /** How the paths of its files begin. */
  readonly prefix: string;
  readonly filesPerProcess: number;
  readonly engine: EngineRole;
  readonly waits?: boolean;
}

/**
 * In the order in which they begin, except that those that wait alternate with the others: the
 * longest first, since the last one leaves the other cores idle. A process costs about a second of
 * processor time before its code is warm, so most files share one; files that take long, or start
 * processes, have one each. Only DynamoDB Local judges what concerns storage; where the subject is
 * something else, the quicker engine saves time.
 */
const ROOMS: readonly Room[] = [
  { prefix: 'test/local/npm-start', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/interop/restart/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/local/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/interop/gateway/', filesPerProcess: 1, engine: 'quick', waits: true },
  { prefix: 'test/simulation/', filesPerProcess: 4, engine: 'judge' },
  { prefix: 'test/spec/', filesPerProcess: 14, engine: 'judge' },
  { prefix: 'test/model/', filesPerProcess: 1, engine: 'quick' },
  { prefix: 'test/processes/', filesPerProcess: 1, engine: 'quick' },
  { prefix: 'test/interop/', filesPerProcess: 6, engine: 'quick' },
  { prefix: 'test/cdk/', filesPerProcess: 8, engine: 'quick' },
  { prefix: 'test/hostile/', filesPerProcess: 8, engine: 'quick' },
  { prefix: 'test/', filesPerProcess: 14, engine: 'judge' },
];

/** Fill the tables of their process, which other tests read as a whole. */
const FILLING =
  /\/(answer-\w[\w-]*|budgets|competing-receivers|full-entities|partitions-full)\.test\.ts$/;

/** Divides files (paths from the root of the repository) among processes. */
export function groupsOf(files: readonly string[]): readonly Group[] {
  const groups: Group[] = [];
  let left = files;
  for (const room of ROOMS) {
    const inRoom = left.filter((file) => file.startsWith(room.prefix));
    left = left.filter((file) => !inRoom.includes(file));
    groups.push(...divide(room, inRoom));
  }
  const waiting = groups.filter(({ waits }) => waits);
  const others = groups.filter(({ waits }) => !waits);
  return Array.from({ length: Math.max(waiting.length, others.length) }, (_, i) => [
    ...others.slice(i, i + 1),
    ...waiting.slice(i, i + 1),
  ]).flat();
}

/** Neighbours take about as long as each other, so they go to different processes. */
function divide(
  { prefix, filesPerProcess, engine, waits = false }: Room,
  files: readonly string[],
): Group[] {
  const alone = files.filter((file) => filesPerProcess === 1 || FILLING.test(file));
  const others = files.filter((file) => !alone.includes(file));
  const count = Math.ceil(others.length / filesPerProcess);
  return [
    ...alone.map((file) => ({ name: file, files: [file], engine, waits })),
    ...Array.from({ length: count }, (_, group) => ({
      name: prefix,
      files: others.filter((_, i) => i % count === group),
      engine,
      waits,
    })),
  ];
}
