import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, newUser, pack } from '../../package/pack.ts';

/** Projects of new users: empty folders in which the packed package is installed, and nothing else of ours. */

const SAMPLES = fileURLToPath(new URL('../../samples', import.meta.url));
/** How long a command may take, with the installation of the engines. */
const COMMAND_MS_MAX = 300_000;

/** The folder of all projects of this process; removed when the process ends. */
let folder: string | undefined;
let tarball: string | undefined;

/** How a command has ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** What a command gets beside its arguments. */
interface RunOptions {
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** A folder in which the package is installed. */
export class Project {
  readonly folder: string;

  private constructor(name: string) {
    this.folder = join(allProjects(), name);
  }

  /** Makes a project that has the package and the named packages. */
  static with(name: string, packages: readonly string[] = []): Project {
    const project = new Project(name);
    install(project.folder, [packedTarball(), ...packages]);
    return project;
  }

  /** Makes a project of one of the samples, whose `dynabus` is the packed one. */
  static ofSample(name: string): Project {
    const project = new Project(name);
    cpSync(join(SAMPLES, name), project.folder, { recursive: true });
    const file = join(project.folder, 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly devDependencies: Record<string, string>;
    };
    manifest.devDependencies['dynabus'] = `file:${packedTarball()}`;
    writeFileSync(file, JSON.stringify(manifest));
    install(project.folder, []);
    return project;
  }

  /** Writes a file of the project. */
  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Runs a command of the project, as `npx` finds it. */
  run(command: readonly string[], { variables = {}, input = '' }: RunOptions = {}): Ended {
    const [program = '', ...args] = command;
    const { status, stdout, stderr, error } = spawnSync(program, args, {
      ...this.#options(variables),
      encoding: 'utf8',
      input,
      timeout: COMMAND_MS_MAX,
      maxBuffer: 64 * 1024 * 1024,
    });
    if (error !== undefined) throw error;
    return { exitCode: status, output: stdout, errors: stderr };
  }

  /** Starts a command of the project. The caller ends it. */
  start(
    command: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ): ChildProcessWithoutNullStreams {
    const [program = '', ...args] = command;
    return spawn(program, args, this.#options(variables));
  }

  #options(variables: Readonly<Record<string, string>>) {
    const path = `${join(this.folder, 'node_modules', '.bin')}:${process.env['PATH']}`;
    return { cwd: this.folder, env: { ...newUser(), PATH: path, ...userFolders(), ...variables } };
  }
}

function allProjects(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'dynabus-packed-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return folder;
}

function packedTarball(): string {
  tarball ??= pack(allProjects());
  return tarball;
}

/** A cache and a temporary folder of their own, so that the engines are installed as on a fresh machine. */
function userFolders() {
  return { XDG_CACHE_HOME: join(allProjects(), 'cache') };
}
