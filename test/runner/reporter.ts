import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { Readable } from 'node:stream';
import { spec as Spec, tap } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The output of `npm test`: TAP for programs, the `spec` reporter of the runner on a terminal. Places of tests
 * are those in the source, not in the bundle, and the slowest files precede the summary.
 */

/** The fields of a test runner's event that the reporter uses. */
interface TestEvent {
  readonly type: string;
  readonly data: EventData;
}

interface EventData {
  readonly nesting?: number;
  readonly message?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly details?: { readonly duration_ms: number; readonly type?: string };
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const SLOWEST_SHOWN = 10;
/** The first line of the runner's summary. */
const SUMMARY = /^tests \d+$/;
const ROOT = `${process.cwd()}/`;

// biome-ignore lint/style/noDefaultExport: node:test takes the default export of a reporter.
export default async function* report(
  source: AsyncIterable<TestEvent>,
): AsyncGenerator<string | Buffer> {
  const events = withSlowest(source);
  if (process.stdout.isTTY) yield* Readable.from(events).pipe(new Spec());
  else yield* tap(events as Parameters<typeof tap>[0]) as AsyncGenerator<string>;
}

async function* withSlowest(source: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  const times = new FileTimes();
  for await (const event of source) {
    const { type, data } = inSource(event);
    if (type === 'test:pass' || type === 'test:fail') times.add(data);
    if (type === 'test:diagnostic' && data.nesting === 0 && SUMMARY.test(data.message ?? '')) {
      yield* times.slowest().map((message) => ({ type, data: { ...data, message } }));
    }
    yield { type, data };
  }
}

/** Adds up the durations of the tests of each file. */
class FileTimes {
  readonly #msByFile = new Map<string, number>();
  /** By nesting level: the time of the tests whose parent has not ended. */
  readonly #innerMs: number[] = [];

  /** Records the end of a test, which follows the ends of the tests in it. */
  add({ nesting = 0, file = '', details }: EventData): void {
    const ms = details?.duration_ms ?? 0;
    // The place of a suite is often in a helper, not in the test file.
    const own = details?.type === 'suite' ? 0 : Math.max(0, ms - (this.#innerMs[nesting + 1] ?? 0));
    this.#innerMs.length = nesting + 1;
    this.#innerMs[nesting] = (this.#innerMs[nesting] ?? 0) + ms;
    this.#msByFile.set(file, (this.#msByFile.get(file) ?? 0) + own);
  }

  slowest(): readonly string[] {
    const rows = [...this.#msByFile].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
    return rows.map(([file, ms]) => `slow ${(ms / 1000).toFixed(1)} s ${file.replace(ROOT, '')}`);
  }
}

function inSource({ type, data }: TestEvent): TestEvent {
  const { file, line, column } = data;
  if (file === undefined || line === undefined || column === undefined) return { type, data };
  return { type, data: { ...data, ...sourceOf({ file, line, column }) } };
}

const maps = new Map<string, SourceMap | undefined>();

/** The source place of a place in a bundle; the same place for other files. */
function sourceOf(place: Place): Place {
  const { file, line, column } = place;
  if (!maps.has(file)) maps.set(file, readMap(file));
  const entry = maps.get(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return place;
  return {
    file: fileURLToPath(new URL(entry.originalSource, pathToFileURL(file))),
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
  };
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}
