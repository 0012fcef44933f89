import { type AppliedEntity, applyEach } from '../../shared/config/apply/apply-each.ts';
import type { NamespaceConfig } from '../../shared/config/namespace-config.ts';
import { RemoteEntities } from '../remote-entities/remote-entities.ts';
import type { Context } from './context.ts';
import { EXIT, type ExitCode } from './io.ts';
import { numberText } from './table.ts';

/** What an import of entities did, as `--json` prints it. Entities, rules and consumers are paths. */
interface ImportedEntities {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  /** Rules and consumers that the file lacks. */
  readonly deleted: readonly string[];
  /** What existed and was not changed. */
  readonly existing: readonly string[];
  /** What exists, is not as in the file, and was not changed: a sentence each. */
  readonly different: readonly string[];
  /** What was refused: a line each, with the path in the file. */
  readonly refused: readonly string[];
}

/**
 * Creates the entities of a file that the namespace lacks, and reports those that exist and differ; with `update`,
 * makes them as in the file. Prints what was done. Throws RefusalError, UnreachableError.
 */
export async function importEntities(
  context: Context,
  config: NamespaceConfig,
  { update }: { readonly update: boolean },
): Promise<ExitCode> {
  const { signal } = context;
  const total = config.entities.length;
  const progress = context.progress('Worked on', total, 'entities');
  let count = 0;
  const { entities, faults } = await applyEach(await RemoteEntities.open(context.client), config, {
    keepsExisting: !update,
    applied: () => progress.show(++count),
    signal,
  }).finally(() => progress.end());
  const result = resultOf(entities, faults);
  await context.print(textOf(result), result);
  for (const line of faults) await context.warn(line);
  if (signal.aborted) return EXIT.interrupted;
  return result.different.length + faults.length > 0 ? EXIT.failed : EXIT.done;
}

function resultOf(
  entities: readonly AppliedEntity[],
  refused: readonly string[],
): ImportedEntities {
  const all = entities.flatMap(({ name, outcome, rules, consumers }) => [
    { path: name, outcome },
    ...rules.map((rule) => ({ path: `${name}/Rules/${rule.name}`, outcome: rule.outcome })),
    ...consumers,
  ]);
  const pathsOf = (wanted: (typeof all)[number]['outcome']) =>
    all.filter(({ outcome }) => outcome === wanted).map(({ path }) => path);
  return {
    created: pathsOf('created'),
    updated: pathsOf('updated'),
    deleted: pathsOf('deleted'),
    existing: pathsOf('unchanged'),
    different: entities.flatMap(({ differences }) => differences),
    refused,
  };
}

function textOf({ created, updated, deleted, existing, different }: ImportedEntities): string {
  const counts = [
    `Created ${numberText(created.length)}`,
    ...(updated.length > 0 ? [`updated ${numberText(updated.length)}`] : []),
    ...(deleted.length > 0 ? [`deleted ${numberText(deleted.length)}`] : []),
  ];
  return [
    ...created.map((path) => `Created ${path}.`),
    ...updated.map((path) => `Updated ${path}.`),
    ...deleted.map((path) => `Deleted ${path}.`),
    ...different,
    `${counts.join(', ')}; ${numberText(existing.length)} existed already.`,
  ].join('\n');
}
