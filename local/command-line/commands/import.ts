import { fieldOf } from '../../client/client-errors.ts';
import { readPath } from '../../client/entity-path.ts';
import type { NamespaceConfig } from '../../client/namespace-config.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { importEntities } from '../import-entities.ts';
import { EXIT, type ExitCode } from '../io.ts';
import { readJsonFile } from '../lines.ts';
import { sendLines } from '../send-lines.ts';

/** The options of `dynabus import`, as written. */
export interface ImportOptions extends CommonOptions {
  readonly in?: string;
  readonly entities?: string;
}

/** Sends the messages of an export, or creates entities. */
export const runImport: RunCommand<ImportOptions> = async (io, [pathText], options) => {
  if ((pathText === undefined) === (options.entities === undefined)) {
    throw new UsageError('Give either the path of a queue or topic, or --entities and a file.');
  }
  if (pathText === undefined) {
    const config = await readConfig(options.entities ?? '');
    return await createEntities(connect(io, options), config);
  }
  const path = readPath(pathText);
  if (path.subQueue !== 'main') {
    throw new UsageError(`Nothing can be sent to a dead-letter queue; import into ${path.entity}.`);
  }
  return await sendLines(connect(io, options), path, options.in);
};

async function createEntities(context: Context, config: NamespaceConfig): Promise<ExitCode> {
  const { created, existing, different } = await importEntities(context, config);
  const lines = [
    ...created.map((path) => `Created ${path}.`),
    ...different,
    `Created ${created.length}; ${existing.length} existed already.`,
  ];
  await context.print(lines.join('\n'), { created, existing, different });
  return different.length > 0 ? EXIT.failed : EXIT.done;
}

/** Reads the first namespace of the file. Throws UsageError. */
async function readConfig(file: string): Promise<NamespaceConfig> {
  const json = await readJsonFile(file);
  const namespaces = fieldOf(fieldOf(json, 'UserConfig'), 'Namespaces');
  const [only, ...others]: readonly unknown[] = Array.isArray(namespaces) ? namespaces : [];
  if (only === undefined || others.length > 0) {
    throw new UsageError(
      `The file ${file} must hold one namespace: {"UserConfig":{"Namespaces":[{"Name":…,"Queues":[…],"Topics":[…]}]}}.`,
    );
  }
  const queues = named(file, fieldOf(only, 'Queues'));
  const topics = named(file, fieldOf(only, 'Topics')).map((topic) => ({
    ...topic,
    Subscriptions: named(file, fieldOf(topic, 'Subscriptions')).map((subscription) => ({
      ...subscription,
      Rules: named(file, fieldOf(subscription, 'Rules')),
    })),
  }));
  return { Queues: queues, Topics: topics } as unknown as NamespaceConfig;
}

function named(file: string, list: unknown): readonly { readonly Name: string }[] {
  if (list === undefined) return [];
  if (!Array.isArray(list) || list.some((one) => typeof fieldOf(one, 'Name') !== 'string')) {
    throw new UsageError(
      `In the file ${file}, a list of entities or rules is wrong: each needs a Name.`,
    );
  }
  return list.map((one: object) => ({ Properties: {}, Name: '', ...one }));
}
