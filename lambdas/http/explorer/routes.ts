import { type Context, Hono } from 'hono';
import { pageFiles } from '../../../explorer/build/page-files.ts';

/** What the page is told about where it runs, before anybody has shown a right. */
export interface AboutExplorer {
  /** `local` = a namespace on the machine of who looks at it. */
  readonly place: 'local' | 'deployed';
  /** `forwarded` = by `dynabus explorer`, which has the rights, and whose address has a secret. */
  readonly access: 'sas' | 'iam' | 'forwarded';
  /** The key of the root rule, where it is public. */
  readonly publicKey?: string | undefined;
  /** The host of the namespace, where it is not that of the page; told only to who has the secret. */
  readonly namespace?: string;
  /** Whether the server refuses changes. */
  readonly isReadOnly?: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The page runs its own script only, talks to its own server only, and cannot be framed. What messages contain cannot
 * become markup: `require-trusted-types-for` makes the browser refuse it.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // A new version is seen at once.
  'Cache-Control': 'no-cache',
};

/** The address of the page, on the host of its namespace. */
export const EXPLORER_PATH = '/$explorer';
/** Where the page reads about where it runs. */
export const ABOUT_PATH = `${EXPLORER_PATH}/about.json`;

/**
 * The routes of the web page, which are no part of the API, and so not in its table and document. Only the manage
 * function and the local server load it.
 */
export function explorerRoutes(about: AboutExplorer): Hono {
  const app = new Hono();
  app.get(EXPLORER_PATH, (c) => answer(c, 'index.html'));
  app.get(ABOUT_PATH, (c) => answerAbout(c, about));
  app.get(`${EXPLORER_PATH}/:file`, (c) => answer(c, c.req.param('file')));
  return app;
}

/** Tells the page about where it runs. */
export function answerAbout(c: Context, about: AboutExplorer): Response {
  return c.json(about, 200, { ...PAGE_HEADERS });
}

async function answer(c: Context, name: string): Promise<Response> {
  const file = (await pageFiles()).get(name);
  if (file === undefined) return c.notFound();
  const headers = { ...PAGE_HEADERS, 'Content-Type': TYPES[name.split('.').at(-1) ?? ''] ?? '' };
  const isGzip = /\bgzip\b/.test(c.req.header('Accept-Encoding') ?? '');
  return c.body(new Uint8Array(isGzip ? file.gzip : file.plain), 200, {
    ...headers,
    Vary: 'Accept-Encoding',
    ...(isGzip ? { 'Content-Encoding': 'gzip' } : {}),
  });
}
