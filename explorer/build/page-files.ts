import { gunzipSync } from 'node:zlib';

/** What bundles of functions and of the package contain in its place: the files as JSON, each as base64 of gzip. */
declare const DYNABUS_EXPLORER: string;

/** A file of the page, compressed with gzip. */
export interface PackedFile {
  readonly gzip: Uint8Array;
  /** As it is; unpacked when somebody asks. */
  readonly plain: Uint8Array;
}

let files: Promise<ReadonlyMap<string, PackedFile>> | undefined;

/** The files of the page by their names. Where the code runs from source, the page is built at the first call. */
export function pageFiles(): Promise<ReadonlyMap<string, PackedFile>> {
  files ??= load();
  return files;
}

async function load(): Promise<ReadonlyMap<string, PackedFile>> {
  const packed = await packedFiles();
  return new Map(
    Object.entries(packed).map(([name, base64]) => [
      name,
      unpacking(Buffer.from(base64, 'base64')),
    ]),
  );
}

function unpacking(gzip: Uint8Array): PackedFile {
  let plain: Uint8Array | undefined;
  return {
    gzip,
    get plain() {
      plain ??= gunzipSync(gzip);
      return plain;
    },
  };
}

async function packedFiles(): Promise<Readonly<Record<string, string>>> {
  if (typeof DYNABUS_EXPLORER === 'undefined') {
    const { bundlePage } = await import('./bundle-page.ts');
    return bundlePage().files;
  }
  return JSON.parse(DYNABUS_EXPLORER);
}
