import { readPath } from '../../../client/entity-path.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import type { ExitCode, Io } from '../io.ts';
import { sendLines } from '../send-lines.ts';

/** The options of `dynabus import`, as written. */
export interface ImportOptions extends CommonOptions {
  readonly in?: string;
  readonly entities?: string;
  readonly update?: boolean;
}

/** Sends the messages of an export, or creates entities. */
export const runImport: RunCommand<ImportOptions> = async (io, [pathText = ''], options) => {
  if ((pathText === '') === (options.entities === undefined)) {
    throw new UsageError('Give either the path of a queue or topic, or --entities and a file.');
  }
  const { entities, update = false } = options;
  if (update && entities === undefined) {
    throw new UsageError('--update is for entities: give --entities and a file, too.');
  }
  if (options.in !== undefined && entities !== undefined) {
    throw new UsageError('--in is for messages: give either --in and a path, or --entities.');
  }
  if (entities !== undefined) return await runImportEntities(io, entities, options);
  const path = readPath(pathText);
  if (path.subQueue !== 'main') {
    throw new UsageError(`Nothing can be sent to a dead-letter queue; import into ${path.entity}.`);
  }
  return await sendLines(connect(io, options), path, options.in);
};

async function runImportEntities(io: Io, file: string, options: ImportOptions): Promise<ExitCode> {
  // Loaded here: an import of messages needs none of the code of entities.
  const [{ readConfigFile }, { importEntities }] = await Promise.all([
    import('../../config/read-file.ts'),
    import('../import-entities.ts'),
  ]);
  const config = await readConfigFile(file);
  return await importEntities(connect(io, options), config, { update: options.update ?? false });
}
