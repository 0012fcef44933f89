import { once } from 'node:events';
import type { Project } from './project.ts';

/** How every command that serves prints that it is ready, to people and to programs. */
const CONNECTION_STRING = /Endpoint=sb:[^"\s]+(?=["\s])/;

/** A command of a project, as it serves. */
export interface Serving {
  readonly connectionString: string;
  /** What it had printed when it was ready. */
  readonly output: string;
  readonly pid: number | undefined;
  /** Ends it. Resolves with its exit code, or with the name of the signal that ended it. */
  end(): Promise<number | string>;
}

/** Starts a command that serves, and waits until it is ready. Fails if it ends before. The caller ends it. */
export async function serve(
  project: Project,
  command: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const child = project.start(command, variables);
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  let output = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const connectionString = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [found] = CONNECTION_STRING.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    ended.then((end) => reject(new Error(`It has ended: ${end}. ${output}${errors}`)), reject);
  });
  const end = () => {
    child.kill();
    return ended;
  };
  return { connectionString, output, pid: child.pid, end };
}
