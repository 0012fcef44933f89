import { type Cells, table } from '../markdown.ts';
import type { InstallResult } from './measure.ts';

export const INSTALL_TITLE = '## What an install takes';

/** The section on the package: sizes, and times of starts. */
export function printInstall(result: InstallResult): string {
  const { tarballBytes, productionBytes, developmentBytes, nodeMs, helpMs, engines } = result;
  const sizes: Cells[] = [
    ['tarball', megabytes(tarballBytes)],
    ['production install: dynabus alone', megabytes(productionBytes)],
    ['install for tests: dynabus with both engines', megabytes(developmentBytes)],
  ];
  const times = engines.map(
    ({ engine, serverMs, firstMs, nextMs, tenEntitiesMs, resetMs }): Cells => [
      engine,
      ...[serverMs, firstMs, nextMs, tenEntitiesMs, resetMs].map(tenths),
    ],
  );
  const titles = [
    ...['engine', '`dynabus start`', '`startNamespace`, first', 'next, one queue'],
    ...['next, ten entities', '`reset`'],
  ];
  return `${INSTALL_TITLE}

The package is packed and installed in an empty folder.

${table(['what', 'MB'], sizes)}

\`dynabus --help\` takes ${tenths(helpMs)} ms, of which Node itself takes ${tenths(nodeMs)}. In milliseconds, medians except the first starts:

${table(titles, times)}
`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

function tenths(ms: number): string {
  return ms.toFixed(ms < 100 ? 1 : 0);
}
