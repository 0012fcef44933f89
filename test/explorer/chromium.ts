import { existsSync } from 'node:fs';

/** Where Debian, macOS and people put it. */
const PLACES = [
  process.env['DYNABUS_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** Why tests in a browser are skipped; false = there is a browser. */
export const NO_BROWSER: string | false =
  executable() === undefined &&
  'no Chromium is installed: apt-get install chromium, or name one in DYNABUS_CHROMIUM';

/** The path of a browser; undefined = there is none. */
export function executable(): string | undefined {
  return PLACES.find((place) => place !== undefined && existsSync(place));
}
